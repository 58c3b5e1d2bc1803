package hostile_test

import (
	"database/sql"
	"fmt"
	"os"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
)

func TestMain(m *testing.M) {
	if args := os.Getenv(processEnv); args != "" {
		if err := poisoned(args); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testdb.LeakMain(m)
}

func openDB(driver, dsn string) (*sql.DB, error) {
	db, err := sql.Open(driver, dsn)
	if err == nil {
		testdb.SetConns(db, 6)
	}
	return db, err
}
