// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"kubi.zone/kubizone/test/rig"
)

const waitTimeout = 5 * time.Minute

var ready = regexp.MustCompile(`(?m)^ready`)

type storyKey struct{}

// story has at most one server, started by up and again after down, and secondaries.
type story struct {
	server      *process
	listen, dns string
	secondaries []*rig.BIND
}

func storyOf(ts *testscript.TestScript) *story { return ts.Value(storyKey{}).(*story) }

func (s *story) endStory() {
	if s.server != nil {
		s.server.Kill()
	}
	for _, b := range s.secondaries {
		_ = b.Close()
	}
}

// choosePorts is for secondaries that start first.
func (s *story) choosePorts(ts *testscript.TestScript) {
	if s.listen == "" {
		s.listen, s.dns = "127.0.0.1:"+freePort(ts), "127.0.0.1:"+freePort(ts)
	}
}

type process struct {
	*rig.Process
	name string
}

func startProcess(dir string, env []string, name string, args ...string) (*process, error) {
	command := exec.Command(name, args...)
	command.Dir, command.Env = dir, env
	started, err := rig.StartCommand(command)
	return &process{started, filepath.Base(name)}, err
}

func (p *process) waitLine(line *regexp.Regexp) error {
	for end := time.Now().Add(waitTimeout); !line.MatchString(p.Log()); time.Sleep(20 * time.Millisecond) {
		if p.ended() && !line.MatchString(p.Log()) {
			return fmt.Errorf("%s ended (%v) before %q", p.name, p.Err(), line)
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s did not print %q within %s", p.name, line, waitTimeout)
		}
	}
	return nil
}

func (p *process) ended() bool {
	select {
	case <-p.Ended():
		return true
	default:
		return false
	}
}

func (p *process) stopProcess() error {
	if err := p.Signal(os.Interrupt); err != nil {
		return err
	}
	return p.waitEnd()
}

func (p *process) waitEnd() error {
	select {
	case <-p.Ended():
		return p.Err()
	case <-time.After(waitTimeout):
		p.Kill()
		return fmt.Errorf("%s did not end within %s", p.name, waitTimeout)
	}
}

func freePort(ts *testscript.TestScript) string {
	addr, err := rig.FreePort()
	ts.Check(err)
	return strconv.Itoa(int(addr.Port()))
}

// startUp [FLAG...] starts `kubizone up` on $WORK/data, after down on the same ports, and returns when ready, with the
// output as stdout. `! up` expects an exit with an error, which becomes stderr.
func startUp(ts *testscript.TestScript, neg bool, args []string) {
	s := storyOf(ts)
	s.choosePorts(ts)
	data := ts.MkAbs("data")
	args = append([]string{"up", "--data-dir", data, "--listen", s.listen, "--dns-listen", s.dns}, args...)
	ts.Logf("> kubizone %s", strings.Join(args, " "))
	p, err := startProcess(ts.MkAbs("."), rig.StoryEnvironment(ts), binaries.kubizone, args...)
	ts.Check(err)
	if neg {
		err := p.waitEnd()
		fmt.Fprint(ts.Stderr(), p.Log())
		if err == nil {
			ts.Fatalf("up ended without an error")
		}
		return
	}
	if s.server != nil {
		p.Kill()
		ts.Fatalf("up: the story has a server already")
	}
	s.server = p
	err = p.waitLine(ready)
	fmt.Fprint(ts.Stdout(), p.Log())
	ts.Check(err)
	_, dnsPort, _ := net.SplitHostPort(s.dns)
	ts.Setenv("KUBECONFIG", filepath.Join(data, "kubeconfig"))
	ts.Setenv("API", s.listen)
	ts.Setenv("DNS_PORT", dnsPort)
}

// stopUp [-kill] ends the server by Ctrl-C or SIGKILL, with its whole output as stdout.
func stopUp(ts *testscript.TestScript, neg bool, args []string) {
	s := storyOf(ts)
	if neg || s.server == nil {
		ts.Fatalf("usage: down [-kill], after up")
	}
	p := s.server
	s.server = nil
	var err error
	if len(args) == 1 && args[0] == "-kill" {
		p.Kill()
	} else {
		err = p.stopProcess()
	}
	fmt.Fprint(ts.Stdout(), p.Log())
	ts.Check(err)
}

// askAnonymously PATH sends a request without credentials to the API server, with "STATUS BODY" as stdout.
func askAnonymously(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: anonymous PATH")
	}
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // without a kubeconfig, a client has no CA
	}}
	response, err := client.Get("https://" + ts.Getenv("API") + args[0])
	ts.Check(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%d %s\n", response.StatusCode, body)
}

func findPort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: port NAME")
	}
	ts.Setenv(args[0], freePort(ts))
}

func readSerial(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: serial NAME NAMESPACE/ZONE")
	}
	namespace, zone, _ := strings.Cut(args[1], "/")
	cmd := exec.Command(binaries.kubectl, "get", "zone", "-n", namespace, zone, "-o", "jsonpath={.status.serial}")
	cmd.Env = rig.StoryEnvironment(ts)
	out, err := cmd.Output()
	ts.Check(err)
	ts.Setenv(args[0], string(out))
}
