// Command bare imports the libraries that runner imports, and does nothing.
package main

import _ "prdrunner/examples/bench/libraries"

func main() {}
