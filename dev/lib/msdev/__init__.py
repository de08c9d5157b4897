"""What the tools under dev/ and images/ share: progress, logs, processes, a cache of built things.

Python 3.11 and its standard library only, because these run before anything else is installed.
"""
