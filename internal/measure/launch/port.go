package launch

import (
	"fmt"
	"net"
	"strconv"
)

// FreePort asks the system for a TCP port of the loopback address that nobody uses now.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// CheckPort fails when the port of the loopback address is taken. Without this check a server that somebody else
// runs there would answer for the child that could not listen.
func CheckPort(port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("port %d is taken (%w); stop the program that listens there, or choose another port", port, err)
	}
	return l.Close()
}
