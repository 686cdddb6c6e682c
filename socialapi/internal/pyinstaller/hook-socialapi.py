"""What PyInstaller puts into a bundle of a program that imports the package.

PyInstaller follows the imports in functions. It cannot see what is imported by a name: whatever
`on_first_use` lists, the handlers of the emulator and the extension. Modules that need an extra are
left to the program that imports them.
"""

# ruff: noqa: N999  # PyInstaller looks for a file of this name

from PyInstaller.utils.hooks import collect_data_files, collect_submodules

LEFT_OUT = ("socialapi.integrations.", "socialapi.internal.pyinstaller", "socialapi.testing")

hiddenimports = collect_submodules("socialapi", filter=lambda name: not name.startswith(LEFT_OUT))
datas = collect_data_files("socialapi", includes=["**/*.html", "**/*.json", "**/*.lua"])
