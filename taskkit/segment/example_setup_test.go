package segment_test

import (
	"context"
	"database/sql"

	_ "modernc.org/sqlite"
)

var ctx = context.Background()

// open opens a database in memory with four people.
func open() *sql.DB {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, `CREATE TABLE person (last_name text);
		INSERT INTO person VALUES ('Curie'), ('Hopper'), ('Lovelace'), ('Zuse')`); err != nil {
		panic(err)
	}
	return db
}
