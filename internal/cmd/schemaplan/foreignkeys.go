package main

import (
	"cmp"
	"fmt"
	"strings"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql/schema"
)

// taskColumn is the column of the tables whose rows belong to a task.
const taskColumn = "task_id"

// checkForeignKeys refuses foreign keys of a table whose rows do not belong to a task and are removed with it:
// [foreignKeys] makes triggers of this kind only.
func checkForeignKeys(t *schema.Table) error {
	for _, k := range t.ForeignKeys {
		if len(t.ForeignKeys) != 1 || len(k.Columns) != 1 || k.Columns[0].Name != taskColumn ||
			k.RefTable.Name != taskTable || k.OnDelete != schema.Cascade || cmp.Or(k.OnUpdate, schema.NoAction) != schema.NoAction {
			return fmt.Errorf("foreign key %s of table %s is not one of %s to %s with ON DELETE CASCADE: say in foreignKeys what SQLite has instead",
				k.Symbol, t.Name, taskColumn, taskTable)
		}
	}
	return nil
}

// foreignKeys returns the triggers that SQLite has in place of foreign keys, see
// docs/adr/0001. They refuse a row that belongs to no task, and remove with a task what belongs to
// it. With foreign keys to the table of tasks, SQLite compiles for each INSERT of a task one scan of each table that has
// one, and none of them is ever run: that took a quarter of the time in which it compiles the statement.
func foreignKeys(owned []string) string {
	var b strings.Builder
	for _, table := range owned {
		name := "taskkit_foreign_key_" + strings.TrimPrefix(strings.TrimPrefix(table, "taskkit_"), "task_")
		for _, g := range []guard{{name: name, event: "INSERT"}, {name: name + "_update", event: "UPDATE OF " + taskColumn}} {
			g.table = table
			g.when = "NOT EXISTS (SELECT 1 FROM " + taskTable + " WHERE id = NEW." + taskColumn + ")"
			g.message = "a row of " + table + " must belong to a task that exists"
			b.WriteString(g.sql(dialect.SQLite) + "\n")
		}
	}
	fmt.Fprintf(&b, "CREATE TRIGGER `taskkit_cascade` AFTER DELETE ON `%s` FOR EACH ROW\nBEGIN\n", taskTable)
	for _, table := range owned {
		fmt.Fprintf(&b, "  DELETE FROM `%s` WHERE %s = OLD.id;\n", table, taskColumn)
	}
	b.WriteString("END;\n")
	return b.String()
}
