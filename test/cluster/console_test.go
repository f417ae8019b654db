// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// shownConsole is a console of a user with an admitted browser.
type shownConsole struct {
	*http.Client
	base string
}

func (c *cluster) startConsole(ctx context.Context, t *testing.T, kubeconfig, namespace string) *shownConsole {
	t.Helper()
	file := filepath.Join(t.TempDir(), "open.html")
	program := exec.CommandContext(context.WithoutCancel(ctx), c.client, "console", "--no-browser", "--with-parent",
		"--kubeconfig", kubeconfig, "--open-file", file)
	if namespace != "" {
		program.Args = append(program.Args, "-n", namespace)
	}
	stdin := must.Get(program.StdinPipe())(t)
	var out strings.Builder
	program.Stderr = &out
	must.Succeed(t, program.Start())
	t.Cleanup(func() {
		_ = stdin.Close() // it ends with its parent
		must.Succeed(t, program.Wait())
		if text := out.String(); text != "" {
			t.Logf("the console printed:\n%s", text)
		}
	})
	var address []string
	rig.Until(ctx, t, "no file opens the console", func() error {
		text, err := os.ReadFile(file)
		address = regexp.MustCompile(`url=(http://\S+/open\?[^"]+)"`).FindStringSubmatch(string(text))
		if err == nil && address == nil {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
	s := &shownConsole{Client: &http.Client{Jar: must.Get(cookiejar.New(nil))(t)}}
	s.base, _, _ = strings.Cut(address[1], "/open?")
	response := must.Get(s.Get(address[1]))(t)
	response.Body.Close()
	return s
}

func (s *shownConsole) readPage(t *testing.T, path string) (code int, text string) {
	t.Helper()
	response := must.Get(s.Get(s.base + path))(t)
	defer response.Body.Close()
	return response.StatusCode, string(must.Get(io.ReadAll(response.Body))(t))
}

func (s *shownConsole) expectPage(t *testing.T, path string, want int, texts ...string) string {
	t.Helper()
	code, text := s.readPage(t, path)
	for _, one := range texts {
		if !strings.Contains(text, one) {
			t.Errorf("%s lacks %q:\n%s", path, one, text)
		}
	}
	if code != want {
		t.Errorf("%s: %d, want %d", path, code, want)
	}
	return text
}

// The console of a tenant shows no more than the tenant may read: its own zones, and for others the missing right, with
// the same page whether the zone exists or not. The platform's console shows the zones of both (attack 123).
func TestConsole_hasTheRightsOfItsUser(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, waitTimeout)
	tenant := must.Get(c.makeTenant(ctx, "console-a", "console-ann", "console-a.example."))(t)
	other := must.Get(c.makeTenant(ctx, "console-b", "console-bob", "console-b.example."))(t)
	for kubeconfig, namespace := range map[string]string{tenant: "console-a", other: "console-b"} {
		_, objects := makeClients(t, must.Get(kuberig.ClientConfig(kubeconfig))(t))
		must.Get(objects.Resource(zones).Namespace(namespace).Create(ctx, zoneObject(namespace, namespace, namespace+".example.",
			everyName(namespace)), metav1.CreateOptions{}))(t)
	}

	mine := c.startConsole(ctx, t, tenant, "console-a")
	overview := mine.expectPage(t, "/", http.StatusOK, "console-a.example.", "you lack the right to get installations.kubi.zone")
	if strings.Contains(overview, "console-b") {
		t.Errorf("a tenant's overview tells of another:\n%s", overview)
	}
	mine.expectPage(t, "/zones/console-a/console-a", http.StatusOK, "console-a.example.", "SOA")
	there := mine.expectPage(t, "/zones/console-b/console-b", http.StatusForbidden,
		"you lack the right to get zones in namespace console-b")
	absent := mine.expectPage(t, "/zones/console-b/nothing", http.StatusForbidden)
	if there != absent {
		t.Errorf("another's zone and one that does not exist differ:\n%s\n%s", there, absent)
	}
	may := func(s *shownConsole, namespace string) string {
		_, page := s.readPage(t, "/may")
		form := regexp.MustCompile(`name="form" value="([^"]+)"`).FindStringSubmatch(page)
		response := must.Get(s.PostForm(s.base+"/may", url.Values{"form": {form[1]}, "namespace": {namespace},
			"name": {"www.console-b.example"}, "type": {"A"}}))(t)
		defer response.Body.Close()
		return string(must.Get(io.ReadAll(response.Body))(t))
	}
	if answer := may(mine, "console-b"); !strings.Contains(answer, "you lack the right to create records in namespace console-b") {
		t.Errorf("a question for another namespace:\n%s", answer)
	}
	if answer := may(mine, "console-a"); !strings.Contains(answer, "S14.2") && !strings.Contains(answer, "no zone") {
		t.Errorf("a question for a name of another:\n%s", answer)
	}

	platform := c.startConsole(ctx, t, c.kube.AdminKubeconfig(), "")
	platform.expectPage(t, "/", http.StatusOK, "console-a.example.", "console-b.example.", "Processes")
	platform.expectPage(t, "/zones?name=console-b", http.StatusOK, "console-b.example.", "1 of ")
	platform.expectPage(t, "/zones/console-b/console-b/history", http.StatusOK, "Zone console-b.example., name servers ns1")
}
