package main

import "os"

// inForeground is always true, since no console stops who reads from it.
func inForeground(*os.File) bool { return true }
