// Command vehicle measures what a recording of many processes costs: the time that it takes to attach to them and to
// detach, what it adds to a callback with its publish, at once and later, what memory it takes, and what processor time
// while nothing happens. One process executes callbacks, all others wait. The recorder is the program that users have.
package main
