// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/exporter"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/importer"
	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/standalone"
)

type server struct {
	t          *testing.T
	kubeconfig string
	versioned.Interface
}

func startServer(t *testing.T) *server {
	t.Helper()
	up := standalone.Start(t)
	return &server{t: t, kubeconfig: up.Kubeconfig, Interface: up}
}

type outcome struct {
	t        *testing.T
	out, err string
	failed   error
}

func (s *server) runCommand(command *cobra.Command, in string, arguments ...string) outcome {
	s.t.Helper()
	var out, err bytes.Buffer
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs(append(arguments, "--kubeconfig", s.kubeconfig))
	command.SetIn(strings.NewReader(in))
	command.SetOut(&out)
	command.SetErr(&err)
	failed := command.ExecuteContext(s.t.Context())
	s.t.Logf("%s %s: %v\n%s%s", command.Name(), strings.Join(arguments, " "), failed, err.String(), out.String()[:min(out.Len(), 2000)])
	return outcome{s.t, out.String(), err.String(), failed}
}

func (s *server) runImport(in string, arguments ...string) outcome {
	s.t.Helper()
	return s.runCommand(importer.NewCommand(), in, arguments...)
}

func (s *server) runPlan(in string, arguments ...string) outcome {
	s.t.Helper()
	return s.runCommand(importer.NewPlanCommand(), in, arguments...)
}

func (s *server) applyFile(path string) load.Result {
	s.t.Helper()
	client := must.Get(clientcmd.BuildConfigFromFlags("", s.kubeconfig))(s.t)
	loader := must.Get(load.New(load.Config{Client: client, Report: func(line string) { s.t.Log(line) }}))(s.t)
	result, err := loader.Load(s.t.Context(), load.Source{Path: path})
	if err != nil || result.Incomplete() != "" {
		s.t.Fatal(err, result)
	}
	return result
}

func (s *server) runExport(arguments ...string) string {
	s.t.Helper()
	result := s.runCommand(exporter.NewCommand(), "", arguments...)
	if result.failed != nil || result.err != "" {
		s.t.Fatalf("export: %v\n%s", result.failed, result.err)
	}
	return result.out
}

func (s *server) getZone(namespace, name string) *v1alpha1.Zone {
	s.t.Helper()
	return must.Get(s.KubizoneV1alpha1().Zones(namespace).Get(s.t.Context(), name, metav1.GetOptions{}))(s.t)
}

func (s *server) makeZone(namespace, name string, spec v1alpha1.ZoneSpec) *v1alpha1.Zone {
	s.t.Helper()
	zone := must.Get(s.KubizoneV1alpha1().Zones(namespace).Create(s.t.Context(), &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{}))(s.t)
	return zone
}

func (s outcome) expectRemarks(parts ...string) {
	s.t.Helper()
	must.Say(s.t, s.err, parts...)
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
