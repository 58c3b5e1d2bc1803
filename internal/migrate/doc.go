// Package migrate brings a database to the schema that this version of taskkit
// needs, and checks whether it is there.
//
// goose applies the files of package migrations. Two things are ours, because
// taskkit must migrate through a pooler that keeps no session and into a schema
// of the user's choice:
//
//   - Every PostgreSQL file begins by taking an advisory lock that ends with its
//     transaction. goose's own locks belong to a session.
//   - The version table lives beside the tables it speaks of, and a version
//     stands in it at most once. A migrator that lost the race for one fails
//     there, rolls back as a whole, looks again and goes on.
package migrate
