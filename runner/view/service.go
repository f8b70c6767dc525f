package view

import (
	"fmt"

	"prdrunner/checkpoint/state"
)

// printService prints an event of a service.
func (v *plain) printService(e state.Event) {
	switch e := e.(type) {
	case state.ServiceStarted:
		if v.verbose {
			v.printNeutral("  ", "service "+e.Service+" started", fmt.Sprintf("on port %d", e.Port))
		}
	case state.ServiceReady:
		v.printDone("  ", "service "+e.Service+" is ready", millis(e.TookMS))
	case state.ServiceEnded:
		switch {
		case e.Error != nil:
			v.printAttention("service "+e.Service+" failed", OneLine(string(e.Error.Message)), "log: "+string(e.Error.Log))
		case v.verbose:
			v.printNeutral("  ", "service "+e.Service+" stopped")
		}
	}
}
