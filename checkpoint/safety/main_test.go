package safety

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"prdrunner/checkpoint/savepoint/savepointtest"
)

var postgresServer = savepointtest.NewPostgres()

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		postgresServer.Stop()
		os.Exit(code)
	}))
}
