// Package settings reads the flags of a command from a YAML file, in which they have the names that they have on the
// command line. It also writes such a file with all of them, and its JSON schema. A flag is stated once, where the
// command defines it.
package settings
