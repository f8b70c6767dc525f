package page

// answer is the form in which a person answers a gate.
type answer struct {
	Action, Secret, Gate string
	Asked                string // the digest of the question
	Inputs               []askedInput
}

// askedInput is a value that an approval must give.
type askedInput struct {
	Name, Label, Default string
	Choices              []string
}
