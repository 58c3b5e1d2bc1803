package taskkit_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"taskkit.dev/taskkit"
)

// The error of CheckSchema names the command to run.
func ExampleCheckSchema() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	fmt.Println(taskkit.CheckSchema(ctx, db, taskkit.DefaultSchema))
	_, _ = db.Exec(`DELETE FROM taskkit_goose_version WHERE version_id > 0`)
	var schema *taskkit.SchemaError
	err := taskkit.CheckSchema(ctx, db, taskkit.DefaultSchema)
	fmt.Println(errors.As(err, &schema) && schema.Behind())
	// Output:
	// <nil>
	// true
}

// Migrate may be called by any number of processes at once, and again.
func ExampleMigrate() {
	db, err := sql.Open("sqlite", "file:/migrate?vfs=memdb&_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=foreign_keys(ON)")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	ctx := context.Background()
	fmt.Println(taskkit.CheckSchema(ctx, db, taskkit.DefaultSchema))
	fmt.Println(taskkit.Migrate(ctx, db, taskkit.DefaultSchema))
	fmt.Println(taskkit.CheckSchema(ctx, db, taskkit.DefaultSchema))
	// Output:
	// taskkit: the database has no taskkit tables: run `taskkit migrate -d FILE`
	// <nil>
	// <nil>
}
