// Package recording tests whole recordings, by package session's public face: stand-ins and real ROS 2 programs are
// recorded, and what their datasets say is compared with what the programs have written down.
package recording
