// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/pkg/kit/version"
	"kubi.zone/kubizone/test/must"
)

const two = `apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: one, cluster: {server: "https://one.test", certificate-authority-data: bm9uZQ==}}
- {name: two, cluster: {server: "https://two.test"}}
contexts:
- {name: one, context: {cluster: one, user: me, namespace: mine}}
- {name: two, context: {cluster: two, user: me}}
users:
- {name: me, user: {token: secret}}
`

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func makeClient(t *testing.T, arguments ...string) (asked string, config *rest.Config, namespace string, err error) {
	t.Helper()
	options := NewOptions()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	options.AddFlagsWithNamespace(flags)
	must.Succeed(t, flags.Parse(arguments))
	config, namespace, err = options.Client()
	return options.Namespace(), config, namespace, err
}

// K1, K2
func TestClient_readsFlagsFilesAndEnvironmentAsKubectlDoes(t *testing.T) {
	path := writeFile(t, two)
	t.Setenv("KUBECONFIG", path)
	t.Setenv("HOME", t.TempDir())
	asked, config, namespace, err := makeClient(t)
	if err != nil || asked != "" || namespace != "mine" || config.Host != "https://one.test" || config.BearerToken != "secret" || config.UserAgent != version.UserAgent("kubizone") {
		t.Errorf("from the environment: %q %q %v, %v", asked, namespace, config, err)
	}
	asked, config, namespace, err = makeClient(t, "--context", "two", "-n", "other", "--as", "you", "--as-group", "team")
	if err != nil || asked != "other" || namespace != "other" || config.Host != "https://two.test" || config.Impersonate.UserName != "you" || len(config.Impersonate.Groups) != 1 {
		t.Errorf("with flags: %q %q %v, %v", asked, namespace, config, err)
	}
	// A migration needs another server and authority for the same user.
	authority := writeFile(t, "not read here")
	_, config, _, err = makeClient(t, "--server", "https://127.0.0.1:1", "--certificate-authority", authority, "--tls-server-name", "x.svc")
	if err != nil || config.Host != "https://127.0.0.1:1" || config.BearerToken != "secret" || config.CAFile != authority || config.CAData != nil || config.ServerName != "x.svc" {
		t.Errorf("another server: %v, %v", config, err)
	}
	t.Setenv("KUBECONFIG", "")
	if _, config, namespace, err = makeClient(t, "--kubeconfig", path); err != nil || config.Host != "https://one.test" ||
		namespace != "mine" {
		t.Errorf("from a flag: %q %v, %v", namespace, config, err)
	}
	if _, _, _, err = makeClient(t, "--kubeconfig", path, "--context", "three"); err == nil || !strings.Contains(err.Error(), "three") {
		t.Errorf("a context that is not there: %v", err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	if _, _, _, err = makeClient(t, "--kubeconfig", missing); err == nil || !strings.Contains(err.Error(), "--kubeconfig: ") ||
		!strings.Contains(err.Error(), missing) {
		t.Errorf("a file that is not there: %v", err)
	}
	t.Setenv("KUBECONFIG", missing)
	if _, _, _, err = makeClient(t); err == nil || !strings.Contains(err.Error(), "--kubeconfig: ") ||
		!strings.Contains(err.Error(), missing) || strings.Contains(err.Error(), "KUBERNETES_MASTER") {
		t.Errorf("nothing anywhere: %v", err)
	}
}
