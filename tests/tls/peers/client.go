// A client of TLS with Go's crypto/tls: `client NAME PORT TRUSTED VERSION SUITE GROUP COUNT` connects COUNT times to 127.0.0.1, one
// after the other, asks as a browser does, and prints of each connection its version, suite, group, whether it went on with a
// session, and the answer. SUITE and GROUP are "-" for those that Go offers by itself.
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func main() {
	name, port, trusted, version, suite, group := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6]
	count, err := strconv.Atoi(os.Args[7])
	must(err)
	pem, err := os.ReadFile(trusted)
	must(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	versions := map[string]uint16{"1.0": tls.VersionTLS10, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}
	config := &tls.Config{
		ServerName: name, RootCAs: roots, MinVersion: versions[version], MaxVersion: versions[version],
		ClientSessionCache: tls.NewLRUClientSessionCache(4),
	}
	for _, one := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if one.Name == suite {
			config.CipherSuites = []uint16{one.ID}
		}
	}
	for _, one := range []tls.CurveID{tls.X25519MLKEM768, tls.X25519, tls.CurveP256, tls.CurveP384} {
		if one.String() == group {
			config.CurvePreferences = []tls.CurveID{one}
		}
	}
	for range count {
		stream, err := tls.Dial("tcp", "127.0.0.1:"+port, config)
		must(err)
		must(stream.SetDeadline(time.Now().Add(2 * time.Minute)))
		_, err = stream.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
		must(err)
		line := ""
		for reader := bufio.NewReader(stream); line != "served\n"; {
			line, err = reader.ReadString('\n')
			must(err)
		}
		state := stream.ConnectionState()
		fmt.Println(tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite), state.CurveID, state.DidResume, strings.TrimSpace(line))
		must(stream.Close())
	}
}
