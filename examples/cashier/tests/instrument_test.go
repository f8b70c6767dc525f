package tests

import (
	"slices"
	"strings"
	"testing"

	"cashier/codegen"
)

func TestInstrumentWritesEachMethod(t *testing.T) {
	t.Parallel()
	const source = `package service
type Till interface {
	Open(ctx context.Context, name string, in Order) (store.Till, error)
	Shut(ctx context.Context, id int64) (Sum, error)
}`
	code, operations, err := codegen.Instrument("till.go", []byte(source), "Till")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(operations, []string{"Open", "Shut"}) {
		t.Errorf("operations are %v", operations)
	}
	for _, want := range []string{
		"func (c *Till) Open(ctx context.Context, name string, in service.Order) (store.Till, error)",
		"func (c *Till) Shut(ctx context.Context, id int64) (service.Sum, error)",
		`c.observe("Shut", err)`,
	} {
		if !strings.Contains(string(code), want) {
			t.Errorf("the code lacks %q:\n%s", want, code)
		}
	}
}

func TestInstrumentRefusesShapes(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"no such interface":  `type Other interface{}`,
		"not an interface":   `type Till struct{}`,
		"embedded interface": `type Till interface{ Other }`,
		"no error returned":  `type Till interface{ Open() }`,
	}
	for name, declaration := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := codegen.Instrument("till.go", []byte("package service\n"+declaration), "Till")
			refused(0, err)(t, codegen.ErrUnsupported)
		})
	}
	if _, _, err := codegen.Instrument("till.go", []byte("not Go"), "Till"); err == nil {
		t.Error("a file that is not Go was instrumented")
	}
}
