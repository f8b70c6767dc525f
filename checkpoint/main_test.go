package checkpoint_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	helperProcess()
	goleak.VerifyTestMain(m)
}
