// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/spf13/pflag"

	"kubi.zone/kubizone/test/must"
)

func allFlags(t *testing.T) *pflag.FlagSet {
	t.Helper()
	all := pflag.NewFlagSet("apiserver", pflag.ContinueOnError)
	for _, group := range NewOptions().Flags().FlagSets {
		group.VisitAll(func(flag *pflag.Flag) {
			if all.Lookup(flag.Name) != nil {
				t.Errorf("--%s is in two groups", flag.Name)
			}
		})
		all.AddFlagSet(group)
	}
	return all
}

// P2
func TestOptions_offerWhatTheyCanKeep(t *testing.T) {
	flags := allFlags(t)
	for _, name := range []string{
		"etcd-servers", "etcd-cafile", "etcd-certfile", "etcd-keyfile", "encryption-provider-config", "etcd-data-dir",
		"etcd-member-name", "etcd-initial-cluster", "etcd-listen-peer", "etcd-peer-cert-file", "etcd-peer-key-file", "etcd-peer-ca-file",
		"secure-port", "bind-address", "tls-cert-file", "tls-private-key-file", "tls-min-version", "serving-cert-secret",
		"kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig", "authorization-ask-by-name", "client-ca-file",
		"requestheader-client-ca-file", "requestheader-allowed-names", "audit-log-path", "audit-policy-file", "feature-gates",
		"enable-admission-plugins", "disable-admission-plugins", "admission-control-config-file", "enable-priority-and-fairness",
		"tracing-config-file", "logging-format", "v", "shutdown-delay-duration", "shutdown-send-retry-after", "profiling",
	} {
		if flags.Lookup(name) == nil {
			t.Errorf("--%s is missing", name)
		}
	}
	for _, name := range []string{
		"etcd-prefix", "etcd-servers-overrides", "storage-media-type", "storage-backend", "watch-cache", "watch-cache-sizes", "enable-garbage-collector",
		"emulated-version", "external-hostname", "authentication-tolerate-lookup-failure",
	} {
		if flags.Lookup(name) != nil {
			t.Errorf("--%s is offered, and nothing would heed it", name)
		}
	}
}

func TestOptions_defaults(t *testing.T) {
	o := parseOptions(t, "--etcd-servers", "http://127.0.0.1:2379", "--kubeconfig", "cluster")
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	if o.SecureServing.BindPort != DefaultPort || o.Authentication.RemoteKubeConfigFile != "cluster" || o.Authorization.RemoteKubeConfigFile != "cluster" {
		t.Errorf("port %d, kubeconfigs %q, %q", o.SecureServing.BindPort, o.Authentication.RemoteKubeConfigFile, o.Authorization.RemoteKubeConfigFile)
	}
	// Readiness ends before the listener, and a late client gets Retry-After.
	if o.ServerRun.ShutdownDelayDuration <= 0 || !o.ServerRun.ShutdownSendRetryAfter {
		t.Errorf("shutdown: %+v", o.ServerRun)
	}
	want := []string{"NamespaceLifecycle", "MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "KubizoneDelegation", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook", "ResourceQuota"}
	if !reflect.DeepEqual(o.Admission.RecommendedPluginOrder, want) {
		t.Errorf("admission: %q", o.Admission.RecommendedPluginOrder)
	}
	o = parseOptions(t, "--kubeconfig", "cluster", "--authentication-kubeconfig", "reviewer")
	if o.Authentication.RemoteKubeConfigFile != "reviewer" || o.Authorization.RemoteKubeConfigFile != "cluster" {
		t.Errorf("kubeconfigs %q, %q", o.Authentication.RemoteKubeConfigFile, o.Authorization.RemoteKubeConfigFile)
	}
}

// P1
func TestOptions_reportAllThatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Succeed(t, os.WriteFile(file, nil, 0o600))
	servers := []string{"--etcd-servers", "http://127.0.0.1:2379"}
	for name, c := range map[string]struct {
		arguments []string
		want      []string // nil: valid
	}{
		"an etcd cluster":    {append(servers, "--etcd-cafile", file, "--etcd-certfile", file, "--etcd-keyfile", file), nil},
		"an etcd of its own": {[]string{"--etcd-data-dir", "data"}, nil},
		"names in files": {append(servers, "--requestheader-client-ca-file", file, "--requestheader-allowed-names",
			"front-proxy-client"), nil},
		"no store":                  {nil, []string{"either --etcd-servers or --etcd-data-dir"}},
		"two stores":                {append(servers, "--etcd-data-dir", "data"), []string{"either --etcd-servers or --etcd-data-dir"}},
		"files without servers":     {[]string{"--etcd-data-dir", "data", "--etcd-cafile", file}, []string{"go with --etcd-servers"}},
		"a certificate without key": {append(servers, "--etcd-certfile", file), []string{"--etcd-certfile and --etcd-keyfile: give both"}},
		"reload of nothing": {append(servers, "--encryption-provider-config-automatic-reload"),
			[]string{"goes with --encryption-provider-config"}},
		"peers without data": {append(servers, "--etcd-member-name", "one"), []string{"go with --etcd-data-dir"}},
		"one of no members": {[]string{"--etcd-data-dir", "data", "--etcd-member-name", "one"}, []string{"--etcd-initial-cluster",
			"--etcd-listen-peer", "--etcd-peer-cert-file"}},
		"port 0": {append(servers, "--secure-port", "0"), []string{"--secure-port 0"}},
		"half a serving certificate": {append(servers, "--tls-cert-file", file), []string{"--tls-cert-file and --tls-private-key-file: " +
			"give both"}},
		"two serving certificates": {append(servers, "--tls-cert-file", file, "--tls-private-key-file", file, "--serving-cert-secret",
			"a/b"), []string{"either --serving-cert-secret or --tls-cert-file"}},
		"a secret without namespace":     {append(servers, "--serving-cert-secret", "b"), []string{"NAMESPACE/NAME"}},
		"any client may speak for users": {append(servers, "--requestheader-client-ca-file", file), []string{"--requestheader-allowed-names", "could be any user"}},
		"names without an authority":     {append(servers, "--requestheader-allowed-names", "x"), []string{"goes with --requestheader-client-ca-file"}},
		"an admission plugin unknown":    {append(servers, "--enable-admission-plugins", "Nonesuch"), []string{"Nonesuch"}},
		"nothing may run at once":        {append(servers, "--max-requests-inflight", "0", "--max-mutating-requests-inflight", "0"), []string{"must be positive"}},
		"deletion without reading":       {append(servers, "--feature-gates", "AllowUnsafeMalformedObjectDeletion=true"), []string{"AllowUnsafeMalformedObjectDeletion=true", "kubizone fsck"}},
		"a log format unknown":           {append(servers, "--logging-format", "verse"), []string{"verse"}},
		"a tracing file that is not":     {append(servers, "--tracing-config-file", file+"s"), []string{"tracing-config-file"}},
		"everything": {
			[]string{"--secure-port", "0", "--requestheader-client-ca-file", file, "--serving-cert-secret", "b", "--etcd-certfile", file, "--logging-format", "verse"},
			[]string{"--secure-port", "--requestheader-allowed-names", "NAMESPACE/NAME", "--etcd-keyfile", "either --etcd-servers",
				"verse"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := parseOptions(t, c.arguments...).Validate()
			if len(c.want) == 0 && err != nil {
				t.Error(err)
			}
			must.Say(t, err, c.want...)
		})
	}
}
