// Package adapters gives the executors what they take from libraries: the mailer of sendemail over SMTP, and the
// workbooks of exportcaseload. The executors declare what they need, so that their module names neither library.
package adapters
