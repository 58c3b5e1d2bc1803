package taskkit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// ruledSpec has rules that name other fields.
type ruledSpec struct {
	IDs   []int       `json:"ids,omitempty" validate:"unique,dive,min=0"`
	Rows  []ruledRow  `json:"rows,omitempty" validate:"unique=UserName,dive"`
	Start int         `json:"start_at"`
	End   int         `json:"end_at" validate:"gtefield=Start"`
	Mail  string      `json:"mail_to" validate:"required_with=CarbonCopy"`
	Copy  string      `json:"-"`
	Mode  string      `json:"mode_name"`
	Extra string      `json:"extra_text" validate:"required_if=Mode full"`
	Inner *ruledInner `json:"inner_part,omitempty"`

	CarbonCopy string `json:"carbon_copy"`
}

type ruledRow struct {
	UserName string `json:"user_name"`
	Again    string `json:"again" validate:"eqfield=UserName"`
}

type ruledInner struct {
	Low  int `json:"lower_bound"`
	High int `json:"upper_bound" validate:"gtfield=Low,gtecsfield=Inner.Low"`
}

// panicky is a spec whose Validate has a bug.
type panicky struct {
	Name *string `json:"name,omitempty"`
}

func (p *panicky) Validate() error { return errors.New(*p.Name) }

// An error names fields as clients know them, and never prints a value in full.
func TestSpecErrorNamesFields(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[ruledSpec, struct{}]("ruled", 1)
		many := make([]int, 60_000)
		for i := range many {
			many[i] = i
		}
		many[59_999] = 41
		for name, tc := range map[string]struct {
			spec ruledSpec
			want string // pointer, rule and value of the one field
			text string // in the text of the error
		}{
			"unique":        {ruledSpec{IDs: many}, "/ids unique of length 60000, and [41] and [59999] are both 41", `/ids must not repeat a value (it is of length 60000, and [41] and [59999] are both 41)`},
			"unique field":  {ruledSpec{Rows: []ruledRow{{"a", "a"}, {"b", "b"}, {"a", "a"}}}, `/rows unique=user_name of length 3, and [0] and [2] are both "a"`, `/rows must not have two elements with the same user_name (it is of length 3, and [0] and [2] are both "a")`},
			"gtefield":      {ruledSpec{Start: 3, End: 2}, "/end_at gtefield=start_at 2", `/end_at must not be less than start_at (it is 2)`},
			"required_with": {ruledSpec{CarbonCopy: "x"}, `/mail_to required_with=carbon_copy ""`, `/mail_to is required with carbon_copy (it is "")`},
			"required_if":   {ruledSpec{Mode: "full"}, `/extra_text required_if=mode_name full ""`, `/extra_text is required if mode_name is full (it is "")`},
			"in a row":      {ruledSpec{Rows: []ruledRow{{"a", "b"}}}, `/rows/0/again eqfield=user_name "b"`, `/rows/0/again must be equal to user_name (it is "b")`},
			"in an object":  {ruledSpec{Inner: &ruledInner{Low: 2, High: 1}}, "/inner_part/upper_bound gtfield=lower_bound 1", `/inner_part/upper_bound must be greater than lower_bound (it is 1)`},
			"from the root": {ruledSpec{Inner: &ruledInner{Low: -1, High: -1}}, "/inner_part/upper_bound gtfield=lower_bound -1", `/inner_part/upper_bound must be greater than lower_bound (it is -1)`},
		} {
			_, err := taskkit.Submit(t.Context(), db.DB, k, tc.spec, taskkit.WithSchema(schemaOf(db)), taskkit.System())
			se, ok := errors.AsType[*taskkit.SpecError](err)
			if !ok || len(se.Fields) != 1 {
				t.Errorf("%s: %v, want a *SpecError with one field", name, err)
				continue
			}
			f := se.Fields[0]
			if got := fmt.Sprint(f.Pointer, " ", f.Rule, " ", f.Value); got != tc.want {
				t.Errorf("%s: %s, want %s", name, got, tc.want)
			}
			if !strings.HasSuffix(err.Error(), ": "+tc.text) {
				t.Errorf("%s: %v, want it to say that %s", name, err, tc.text)
			}
		}
	})
}

// An error about a large spec is short, as text and as JSON.
func TestSpecErrorIsShort(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[ruledSpec, struct{}]("ruled", 1)
		negative := make([]int, 60_000)
		for i := range negative {
			negative[i] = -i - 1
		}
		_, err := taskkit.Submit(t.Context(), db.DB, k, ruledSpec{IDs: negative}, taskkit.WithSchema(schemaOf(db)), taskkit.System())
		se, ok := errors.AsType[*taskkit.SpecError](err)
		if !ok || len(se.Fields) != 100 || se.Omitted != 59_900 {
			t.Fatalf("%.500v, want a *SpecError with 100 fields and 59,900 omitted", err)
		}
		if text := err.Error(); len(text) > 1000 || !strings.Contains(text, "/ids/0 breaks the rule min=0 (it is -1)") || !strings.Contains(text, "and 59990 more") {
			t.Errorf("text of %d bytes: %.1500s", len(text), text)
		}
		raw, err := json.Marshal(se)
		if err != nil || len(raw) > 10_000 || !strings.HasPrefix(string(raw), `{"kind":"ruled","index":0,"fields":[{"pointer":"/ids/0","rule":"min=0","value":"-1"},`) {
			t.Errorf("JSON of %d bytes, %v: %.300s", len(raw), err, raw)
		}
	})
}

// A panic in Validate is reported as one.
func TestPanicInValidate(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		_, err := taskkit.Submit(t.Context(), db.DB, newKind[panicky, struct{}]("panicky", 1), panicky{}, taskkit.WithSchema(schemaOf(db)), taskkit.System())
		if _, ok := errors.AsType[*taskkit.SpecError](err); !ok || !strings.Contains(err.Error(), "method Validate: it panicked: runtime error: invalid memory address") ||
			strings.Contains(err.Error(), "tags") {
			t.Errorf("%v, want a *SpecError that reports the panic", err)
		}
		raw, merr := json.Marshal(err)
		if merr != nil || !strings.Contains(string(raw), `"error":"method Validate: it panicked`) {
			t.Errorf("as JSON: %s, %v", raw, merr)
		}
	})
}
