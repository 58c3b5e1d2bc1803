// Package schema declares the tables of the demonstration domain. All names
// begin with caseload_, so that they can lie beside taskkit's in one database.
//
// What ent cannot express, the triggers that keep the status history and the
// ledger, stands in the .sql files of package caseload.
package schema
