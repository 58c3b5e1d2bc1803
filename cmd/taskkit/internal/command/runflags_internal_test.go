package command

import (
	"fmt"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskkit.dev/internal/specform"
)

// A field of a spec that is called as a flag of run, or of all commands, has a flag of another name.
func TestFieldsCalledAsFlags(t *testing.T) {
	t.Parallel()
	app := New(Config{})
	c := new(cobra.Command)
	new(runFlags).add(c)
	c.Flags().AddFlagSet(app.root.PersistentFlags())
	c.InitDefaultHelpFlag()
	checked := 0
	c.Flags().VisitAll(func(flag *pflag.Flag) {
		checked++
		form, err := specform.New(fmt.Appendf(nil, `{"type":"object","properties":{%q:{"type":"string"}},"additionalProperties":false}`, flag.Name))
		if err != nil {
			t.Fatal(err)
		}
		if got := form.Fields[0].Flag(); got != "spec."+flag.Name {
			t.Errorf("the field %s has the flag %s: add it to commandFlags of package specform", flag.Name, got)
		}
	})
	if checked < 15 {
		t.Errorf("%d flags are found", checked)
	}
}
