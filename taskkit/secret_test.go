package taskkit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// hunter is the secret: a word that must be seen nowhere.
const hunter = "hunter2"

type (
	loginSpec struct {
		User  string     `json:"user"`
		Token string     `json:"token" validate:"max=20"`
		Rows  []loginRow `json:"rows" validate:"dive"`
	}
	loginRow struct {
		Name string `json:"name"`
		SSN  string `json:"ssn" validate:"max=20"`
	}
	loginState struct {
		Session string `json:"session"`
		Steps   int    `json:"steps"`
	}
)

func loginKind(revision int, secrets ...string) *taskkit.Kind[loginSpec, loginState, struct{}] {
	return taskkit.NewKind(taskkind.Definition[loginSpec, loginState, struct{}]{
		Name: "login", Revision: revision, Secrets: secrets,
	})
}

var login = loginSpec{User: "ada", Token: hunter, Rows: []loginRow{{"x", hunter}, {"y", ""}}}

// heard is a log that can be read while it is written.
type heard struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.String()
}

// logging works on a task of the kind in two batches, the second of which fails
// with an error of what the executor was given, by its names.
func logging(tb testing.TB) *funcs[loginSpec, loginState] {
	tb.Helper()
	return &funcs[loginSpec, loginState]{execute: func(_ context.Context, b *taskkit.Batch[loginSpec, loginState]) (taskkit.Next, error) {
		if b.Spec.Token != hunter || b.Spec.Rows[0].SSN != hunter || b.State.Steps > 0 && b.State.Session != hunter {
			tb.Errorf("the executor was given %+v and %+v", b.Spec, b.State)
		}
		if b.State.Steps++; b.State.Steps > 1 {
			return taskkit.More, taskkit.Permanent("rejected", fmt.Errorf("user %s: %w", b.Spec.User, errPlanned))
		}
		b.State.Session = hunter
		return taskkit.More, nil
	}}
}

// The secrets of a task are given to its executor and to whoever has its types,
// and are shown to nobody else: not in the tasks that a client reads, not in why
// one waits, not in a log.
func TestSecrets(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		c := clientOf(db)
		k := loginKind(1, "/spec/token", "/spec/rows/*/ssn", "/state/session")
		id := submitted(t, db, k, login)
		waits, err := c.Explain(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}

		log := &heard{}
		config := quick(t, db)
		config.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		started(t, db, registered(k, logging(t)), config)
		if task := ended(t, db, id); task.Status != taskkit.StatusFailure || task.Checkpoints != 1 {
			t.Fatalf("ended in %s %q after %d checkpoints", task.Status, task.StatusDetail, task.Checkpoints)
		}
		task, err := c.Task(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(task.SpecJSON), `{"user":"ada","token":"***","rows":[{"name":"x","ssn":"***"},{"name":"y","ssn":"***"}]}`; got != want {
			t.Errorf("spec shown as %s, want %s", got, want)
		}
		if got, want := string(task.StateJSON), `{"session":"***","steps":1}`; got != want {
			t.Errorf("state shown as %s, want %s", got, want)
		}

		tasks, _, err := c.Tasks(t.Context(), taskkit.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		attempts, err := c.Attempts(t.Context(), id, 10)
		if err != nil {
			t.Fatal(err)
		}
		failed, err := c.Explain(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := json.Marshal([]any{task, tasks, attempts, waits, failed})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(shown), hunter) || !strings.Contains(string(shown), "rejected") {
			t.Errorf("shown: %s", shown)
		}
		if said := log.String(); strings.Contains(said, hunter) || !strings.Contains(said, id.String()) {
			t.Errorf("logged: %s", said)
		}

		got, err := taskkit.Get(t.Context(), c, k, id)
		if err != nil {
			t.Fatal(err)
		}
		if got.Spec.Token != hunter || got.Spec.Rows[0].SSN != hunter || got.State.Session != hunter {
			t.Errorf("typed: %+v, %+v", got.Spec, got.State)
		}
		if strings.Contains(string(got.Task.SpecJSON)+string(got.Task.StateJSON), hunter) {
			t.Errorf("beside the typed: %s, %s", got.Task.SpecJSON, got.Task.StateJSON)
		}
		// A request is answered with the task.
		again, err := c.Retry(t.Context(), id)
		if err != nil || strings.Contains(string(again.SpecJSON), hunter) || len(again.SpecJSON) == 0 {
			t.Errorf("retried: %s, %v", again.SpecJSON, err)
		}
	})
}

// A revision may have secrets that the tasks of the one before were not
// submitted with. Its first checkpoint of such a task brings them along.
func TestSecretsOfNewerRevision(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		id := submitted(t, db, loginKind(1, "/spec/token"), login)
		started(t, db, registered(loginKind(2, "/spec/token", "/spec/rows/*/ssn", "/state/session"), logging(t)), quick(t, db))
		ended(t, db, id)
		task, err := clientOf(db).Task(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if shown := string(task.SpecJSON) + string(task.StateJSON); strings.Contains(shown, hunter) || !strings.Contains(shown, "steps") {
			t.Errorf("shown: %s", shown)
		}
	})
}

// A spec that is refused is refused without its secrets.
func TestSecretsInRefusals(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := loginKind(1, "/spec/token", "/spec/rows/*/ssn")
		long := strings.Repeat(hunter, 10)
		_, err := taskkit.Submit(t.Context(), db.DB, k, loginSpec{Token: long, Rows: []loginRow{{"x", long}}}, taskkit.WithSchema(schemaOf(db)), taskkit.System())
		refused, ok := errors.AsType[*taskkit.SpecError](err)
		if !ok || len(refused.Fields) != 2 || strings.Contains(err.Error(), hunter) {
			t.Fatalf("refused with %v, want a *SpecError with two fields and no secret", err)
		}
		for i, want := range []taskkit.FieldError{{Pointer: "/token", Rule: "max=20", Value: "***"}, {Pointer: "/rows/0/ssn", Rule: "max=20", Value: "***"}} {
			if refused.Fields[i] != want {
				t.Errorf("field %d is %+v, want %+v", i, refused.Fields[i], want)
			}
		}

		r := registered(k, logging(t))
		for _, raw := range []string{
			`{"token":"` + hunter + `","token":"` + hunter + `"}`, `{"token":["` + hunter + `"]}`, `{"rows":[{"ssn":{"` + hunter + `":1}}]}`, `{"token":"` + hunter,
		} {
			if _, err := r.SubmitJSON(t.Context(), db.DB, "login", []byte(raw), taskkit.WithSchema(schemaOf(db)), taskkit.System()); err == nil || strings.Contains(err.Error(), hunter) {
				t.Errorf("%s: refused with %v", raw, err)
			}
		}
	})
}

type (
	vaultSpec struct {
		Tokens map[string]vaultToken `json:"tokens" validate:"max=2,dive,keys,max=20,endkeys"`
		Rows   []vaultRow            `json:"rows" validate:"unique=SSN"`
		Notes  map[string]int        `json:"notes" validate:"dive,max=5"`
		Login  []vaultLogin          `json:"login" validate:"dive"`
	}
	vaultLogin struct {
		Password string `json:"password"`
		Again    string `json:"again" validate:"eqfield=Password"`
	}
	vaultToken struct {
		Uses int    `json:"uses" validate:"max=5"`
		Note string `json:"note"`
	}
	vaultRow struct {
		SSN string `json:"ssn"`
	}
)

// The keys of a secret map are secret too, and no error names a place by them.
func TestSecretKeysInRefusals(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := taskkit.NewKind(taskkind.Definition[vaultSpec, vaultSpec, struct{}]{
			Name: "vault", Revision: 2, Secrets: []string{"/spec/tokens", "/spec/login/*/password", "/spec/rows/*/ssn", "/state/tokens"},
			Upgrades: []taskkind.Upgrade{{From: 1, Spec: func(old json.RawMessage) (json.RawMessage, error) { return old, nil }}},
		})
		long := strings.Repeat(hunter, 3)
		for name, tc := range map[string]struct {
			spec vaultSpec
			want string // in the text
		}{
			"rule below a key": {vaultSpec{Tokens: map[string]vaultToken{hunter: {Uses: 6}}}, "/tokens/*** breaks the rule max=5 (it is ***)"},
			"rule of a key":    {vaultSpec{Tokens: map[string]vaultToken{long: {}}}, "/tokens/*** breaks the rule max=20 (it is ***)"},
			"rule of the map":  {vaultSpec{Tokens: map[string]vaultToken{hunter: {}, "b": {}, "c": {}}}, "/tokens breaks the rule max=2 (it is ***)"},
			"repeated secret":  {vaultSpec{Rows: []vaultRow{{hunter}, {hunter}}}, "/rows must not have two elements with the same ssn (it is of length 2, and [0] and [1] are both ***)"},
			"key of no secret": {vaultSpec{Notes: map[string]int{"a].b[c/d": 6}}, "/notes/a].b[c~1d breaks the rule max=5 (it is 6)"},
			"as a secret":      {vaultSpec{Login: []vaultLogin{{hunter, hunter + "3"}}}, "/login/0/again must be equal to password (it is ***)"},
			"NUL below a key":  {vaultSpec{Tokens: map[string]vaultToken{hunter: {Note: "\x00"}}}, "json: nul at /tokens/***: "},
			"NUL in a key":     {vaultSpec{Tokens: map[string]vaultToken{hunter + "\x00": {}}}, "json: nul at /tokens"},
		} {
			_, err := taskkit.Submit(t.Context(), db.DB, k, tc.spec, taskkit.WithSchema(schemaOf(db)), taskkit.System())
			refusedWithout(t, name, err, tc.want)
			raw, _ := json.Marshal(err)
			if _, ok := errors.AsType[*taskkit.SpecError](err); !ok || strings.Contains(string(raw), hunter) {
				t.Errorf("%s: as JSON %s", name, raw)
			}
		}
		r := registered(k, &funcs[vaultSpec, vaultSpec]{})
		for name, tc := range map[string]struct{ raw, want string }{
			"type":      {`{"tokens":{"` + hunter + `":7}}`, "json: wrong type at /tokens/***: "},
			"deep type": {`{"tokens":{"` + hunter + `":{"uses":"x"}}}`, "json: wrong type at /tokens/***: "},
			"twice":     {`{"tokens":{"` + hunter + `":{},"` + hunter + `":{}}}`, "json: duplicate name at /tokens/***: "},
			"NUL":       {`{"tokens":{"` + hunter + `":{"note":"\u0000"}}}`, "json: nul at /tokens/***: "},
			"syntax":    {`{"tokens":{"` + hunter + `":`, "json: syntax at /tokens"},
			"unknown":   {`{"tokens":{"x":{"` + hunter + `":1}}}`, "json: unknown name at /tokens/***: "},
			"beside it": {`{"notes":{"a":{}}}`, "json: wrong type at /notes/a: "},
		} {
			_, err := r.SubmitJSON(t.Context(), db.DB, "vault", []byte(tc.raw), taskkit.WithSchema(schemaOf(db)), taskkit.System())
			refusedWithout(t, name+" submitted", err, tc.want)
			_, err = k.DecodeSpec(2, []byte(tc.raw))
			refusedWithout(t, name+" as a spec", err, tc.want)
			_, err = k.DecodeState(2, []byte(tc.raw))
			refusedWithout(t, name+" as a state", err, tc.want)
			_, err = k.DecodeSpec(1, []byte(tc.raw)) // where the secrets of revision 1 are is not known
			refusedWithout(t, name+" upgraded", err, "upgrade the spec of kind vault from revision 1: ")
		}
	})
}

// refusedWithout checks the text of an error, in which no secret may be.
func refusedWithout(t *testing.T, name string, err error, want string) {
	t.Helper()
	if err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), hunter) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: refused with %v, want %q and no secret", name, err, want)
	}
}

// A pointer that can point to nothing is found when the program starts.
func TestNewKindRefusesSecrets(t *testing.T) {
	t.Parallel()
	for _, pointer := range []string{"", "/", "token", "/token", "spec/token", "/specs/token", "/spec/a\n/spec/b", "/spec/~2", "/spec/a~"} {
		t.Run(pointer, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, "is not a pointer to a secret") {
					t.Errorf("%q: panicked with %q", pointer, said)
				}
			}()
			loginKind(1, pointer)
		})
	}
	loginKind(1, "/spec", "/state/*", "/spec/a~1b/~0", "/spec/*/")
}
