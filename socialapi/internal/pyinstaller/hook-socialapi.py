"""Lists the modules that PyInstaller bundles with a program that imports the package.

PyInstaller follows imports in functions, but not imports by name: the modules that `on_first_use` lists, the handlers
of the emulator, and the extension. Modules that need an extra are not listed, because the program imports them.
"""

# ruff: noqa: N999  # PyInstaller expects this file name

from PyInstaller.utils.hooks import collect_data_files, collect_submodules

LEFT_OUT = ("socialapi.integrations.", "socialapi.internal.pyinstaller", "socialapi.testing")

hiddenimports = collect_submodules("socialapi", filter=lambda name: not name.startswith(LEFT_OUT))
datas = collect_data_files("socialapi", includes=["**/*.html", "**/*.json", "**/*.lua"])
