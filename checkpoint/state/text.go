package state

import "prdrunner/checkpoint/text"

// Text is a string that survives JSON byte for byte, also where it is not
// UTF-8.
type Text = text.Text

// Texts are strings as JSON keeps them: none is [], never null.
func Texts(list []string) []Text { return text.List(list) }
