// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"reflect"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"kubi.zone/kubizone/test/rig"
)

// exchange has the part of the answer that the client needs.
type exchange struct {
	method, path string
	header       http.Header
	body         string
	status       int
	answer       any // part of the answer's first JSON value
}

// parseExchanges parses blocks separated by empty lines: METHOD PATH, headers, the body, which begins with "{" or "[",
// and "< STATUS" with a part of the answer. "#" begins a comment.
func parseExchanges(text string) (all []exchange, err error) {
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		e := exchange{header: http.Header{}}
		for line := range strings.SplitSeq(block, "\n") {
			switch {
			case strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, "< "):
				status, answer, _ := strings.Cut(line[2:], " ")
				if _, err := fmt.Sscan(status, &e.status); err != nil {
					return nil, fmt.Errorf("%s: %w", line, err)
				}
				if answer != "" {
					if err := json.Unmarshal([]byte(answer), &e.answer); err != nil {
						return nil, fmt.Errorf("%s: %w", line, err)
					}
				}
			case e.method == "":
				e.method, e.path, _ = strings.Cut(line, " ")
			case strings.HasPrefix(line, "{"), strings.HasPrefix(line, "["):
				e.body = line
			default:
				name, value, _ := strings.Cut(line, ": ")
				e.header.Set(name, value)
			}
		}
		if e.method != "" {
			all = append(all, e)
		}
	}
	return all, nil
}

// replayFile FILE sends a recording as the user of $KUBECONFIG.
func replayFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: replay FILE")
	}
	all, err := parseExchanges(ts.ReadFile(args[0]))
	ts.Check(err)
	if len(all) == 0 {
		ts.Fatalf("replay %s: no requests", args[0])
	}
	client := makeUser(ts)
	defer client.CloseIdleConnections()
	for _, e := range all {
		request, err := http.NewRequest(e.method, "https://"+ts.Getenv("API")+e.path, strings.NewReader(e.body))
		ts.Check(err)
		request.Header = e.header
		response, err := client.Do(request)
		ts.Check(err)
		if err := e.compareAnswer(response); err != nil {
			ts.Fatalf("replay %s: %s %s: %v", args[0], e.method, e.path, err)
		}
	}
}

// compareAnswer reads only the first JSON value: of a watch the first event.
func (e *exchange) compareAnswer(response *http.Response) error {
	defer response.Body.Close()
	var answer any
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil && err != io.EOF {
		return fmt.Errorf("%s: %w", response.Status, err)
	}
	if response.StatusCode != e.status || !holdsPart(answer, e.answer) {
		got, _ := json.Marshal(answer)
		want, _ := json.Marshal(e.answer)
		return fmt.Errorf("the answer is %d %s, want %d with %s", response.StatusCode, got, e.status, want)
	}
	return nil
}

// holdsPart reports whether a JSON value contains a part: all fields of objects, a match for each element of a list.
// null matches any value.
func holdsPart(whole, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		whole, ok := whole.(map[string]any)
		for name, value := range part {
			if has, found := whole[name]; !found || !holdsPart(has, value) {
				return false
			}
		}
		return ok
	case []any:
		whole, ok := whole.([]any)
		for _, value := range part {
			if !slices.ContainsFunc(whole, func(has any) bool { return holdsPart(has, value) }) {
				return false
			}
		}
		return ok
	case nil:
		return true
	}
	return reflect.DeepEqual(whole, part)
}

func makeUser(ts *testscript.TestScript) *http.Client {
	cmd := exec.Command(binaries.kubectl, "config", "view", "--raw", "--flatten", "-o", "json")
	cmd.Env = rig.StoryEnvironment(ts)
	out, err := cmd.Output()
	ts.Check(err)
	var config struct {
		Clusters []struct {
			Cluster struct {
				CA []byte `json:"certificate-authority-data"`
			}
		}
		Users []struct {
			User struct {
				Certificate []byte `json:"client-certificate-data"`
				Key         []byte `json:"client-key-data"`
			}
		}
	}
	ts.Check(json.Unmarshal(out, &config))
	if len(config.Clusters) != 1 || len(config.Users) != 1 {
		ts.Fatalf("%s has %d clusters and %d users, want one of each", ts.Getenv("KUBECONFIG"), len(config.Clusters), len(config.Users))
	}
	certificate, err := tls.X509KeyPair(config.Users[0].User.Certificate, config.Users[0].User.Key)
	ts.Check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.Clusters[0].Cluster.CA)
	return &http.Client{
		Timeout: waitTimeout,
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{certificate}},
		},
	}
}
