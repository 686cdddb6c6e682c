"""An async-first SDK for a social platform's core, advertising and catalog APIs."""
