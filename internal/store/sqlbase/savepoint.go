package sqlbase

import (
	"context"

	"taskkit.dev/internal/store"
)

// The statements of [Tx.Savepoint], which are the same in both databases.

func Savepoint(ctx context.Context, tx store.Execer, name string) error {
	_, err := tx.ExecContext(ctx, "SAVEPOINT "+name)
	return err
}

func RollbackTo(ctx context.Context, tx store.Execer, name string) error {
	_, err := tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT "+name)
	return err
}

func ReleaseSavepoint(ctx context.Context, tx store.Execer, name string) error {
	_, err := tx.ExecContext(ctx, "RELEASE SAVEPOINT "+name)
	return err
}
