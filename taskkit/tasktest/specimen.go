package tasktest

import (
	"testing"

	"taskkit.dev/taskkit"
)

// Specimen is JSON that a database may contain: the "spec", "state" or "result"
// of a task, written at a revision of its kind.
type Specimen struct {
	Part     string
	Revision int
	JSON     string
}

// CheckSpecimens fails the test for each specimen that the kind cannot read. Each
// is upgraded and decoded as the runtime does it. taskgen writes a test that calls
// it. Specimens are not validated: those of taskgen keep the rules of their revision, but an
// exception of evolution may have changed these, and a method Validate may ask for more.
func CheckSpecimens[Spec, State, Result any](tb testing.TB, k *taskkit.Kind[Spec, State, Result], specimens []Specimen) {
	tb.Helper()
	for _, s := range specimens {
		var err error
		switch s.Part {
		case "spec":
			_, err = k.DecodeSpec(s.Revision, []byte(s.JSON))
		case "state":
			_, err = k.DecodeState(s.Revision, []byte(s.JSON))
		case "result":
			_, err = k.DecodeResult(s.Revision, []byte(s.JSON))
		default:
			tb.Errorf("kind %s: a specimen of %q: want spec, state or result", k.Name(), s.Part)
			continue
		}
		if err != nil {
			tb.Errorf("kind %s, %s of revision %d: %s: %v", k.Name(), s.Part, s.Revision, s.JSON, err)
		}
	}
}
