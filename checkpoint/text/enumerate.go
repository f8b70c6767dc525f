package text

import "fmt"

// Enumerate returns names as a list for the user. Of more than three names it shows two,
// and says how many others there are.
func Enumerate[S ~string](names []S) string {
	switch n := len(names); {
	case n == 0:
		return "nothing"
	case n == 1:
		return string(names[0])
	case n <= 3:
		list := string(names[0])
		for _, name := range names[1 : n-1] {
			list += ", " + string(name)
		}
		return list + " and " + string(names[n-1])
	default:
		return fmt.Sprintf("%s, %s and %d more", names[0], names[1], n-2)
	}
}
