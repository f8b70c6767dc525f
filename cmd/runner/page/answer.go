package page

import (
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// answer is the form in which a person answers a gate.
type answer struct {
	Action, Secret, Gate string
	Asked                string // the digest of the question
	Inputs               []askedInput
}

// askedInput is a value that an approval must give.
type askedInput struct {
	Name, Label, Default string
	Required             bool // there is no default
	Choices              []string
}

// newAnswer returns the form in which a person answers a gate.
func newAnswer(action, secret string, q info.WaitingGate) *answer {
	a := &answer{Action: action, Secret: secret, Gate: q.Gate, Asked: q.Digest()}
	for _, in := range q.Inputs {
		asked := askedInput{Name: in.Name, Label: view.Named(in.Name, string(in.Description)), Required: in.Default == nil}
		if in.Default != nil {
			asked.Default = string(*in.Default)
		}
		for _, option := range in.Options {
			asked.Choices = append(asked.Choices, string(option))
		}
		a.Inputs = append(a.Inputs, asked)
	}
	return a
}
