// Package migrate brings a database to the schema that this version of taskkit
// needs, and checks whether it has it.
//
// goose applies the files of package migrations. Three parts are replaced, because
// taskkit must be able to migrate through a pooler without sessions and into a
// schema of the user's choice:
//
//   - Every PostgreSQL file begins by taking an advisory lock that ends with its
//     transaction. goose's own locks belong to a session.
//   - A file that makes indexes on a large table CONCURRENTLY cannot be a transaction. For it the session of the
//     migrator holds the same lock, see session in concurrent.go.
//   - The version table is in the same schema as the tables, and contains each
//     version at most once. A migrator that loses the race for a version fails
//     on that constraint, rolls back its transaction and retries.
package migrate
