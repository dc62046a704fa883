"""ls-crowd-plugin: turns many people's labels into labels one can trust."""

__version__ = "0.1.0"
