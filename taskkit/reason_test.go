package taskkit_test

import (
	"errors"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// A submission and a request refuse the same reasons.
func TestReasons(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		id := submitted(t, db, countKind, countSpec{})
		for reason, refused := range map[string]bool{
			"moved":                        false,
			strings.Repeat("\u00e9", 1000): false,
			strings.Repeat("\u00e9", 1001): true,
			"a\x00b":                       true,
			"a\xffb":                       true,
		} {
			_, submit := taskkit.Submit(t.Context(), db.DB, countKind, countSpec{}, taskkit.System(), taskkit.WithReason(reason), taskkit.WithSchema(db.Schema))
			_, request := clientOf(db).Pause(t.Context(), id, taskkit.WithReason(reason))
			for name, err := range map[string]error{"Submit": submit, "Pause": request} {
				option, is := errors.AsType[*taskkit.OptionError](err)
				if is != refused || !is && err != nil || is && option.Option != "WithReason" {
					t.Errorf("%s of %.8q: %v", name, reason, err)
				}
			}
		}
	})
}
