package dialect_test

import (
	"strings"
	"testing"

	"taskkit.dev/internal/dialect"
)

func TestSchema(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d          dialect.Name
		give, want string
		ok         bool
	}{
		{dialect.Postgres, "", "taskkit", true},
		{dialect.Postgres, "a_1", "a_1", true},
		{dialect.SQLite, "anything; at all", "", true},
		{dialect.Postgres, "A", "", false},
		{dialect.Postgres, `a"b`, "", false},
		{dialect.Postgres, "a.b", "", false},
		{dialect.Postgres, "1a", "", false},
		{dialect.Postgres, "pg_x", "", false},
		{dialect.Postgres, strings.Repeat("a", 56), "", false},
		{dialect.Postgres, strings.Repeat("a", 55), strings.Repeat("a", 55), true},
	} {
		got, err := dialect.Schema(c.d, c.give)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("Schema(%s, %q) = %q, %v", c.d, c.give, got, err)
		}
	}
}
