package checkpoint

import "prdrunner/checkpoint/text"

// Text is a string that survives JSON byte for byte, also where it is not
// UTF-8.
type Text = text.Text
