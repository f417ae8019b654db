// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/bench/figures"
	"kubi.zone/kubizone/test/rig"
)

const waitTimeout = 5 * time.Minute

const namespace = "default"

type program struct {
	command *exec.Cmd
	ended   chan struct{}
	log     string
}

func launchProgram(ctx context.Context, dir, path string, args ...string) (*program, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	p := &program{command: exec.Command(path, args...), ended: make(chan struct{}), log: filepath.Join(dir, "log")}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.command.Stdout, p.command.Stderr = out, out
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true} // Ctrl-C reaches only this process
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.command.Wait()
		close(p.ended)
	}()
	err = waitUntil(ctx, "ready", func() (bool, error) {
		select {
		case <-p.ended:
			return false, errors.New("it ended")
		default:
		}
		text, err := os.Open(p.log)
		if err != nil {
			return false, err
		}
		defer text.Close()
		for lines := bufio.NewScanner(text); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "ready") {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		p.stop()
		output, _ := os.ReadFile(p.log)
		return nil, fmt.Errorf("kubizone %s: %w; it says:\n%s", args[0], err, output[max(0, len(output)-4000):])
	}
	return p, nil
}

func (p *program) stop() {
	_ = p.command.Process.Signal(os.Interrupt)
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

func waitUntil(ctx context.Context, what string, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	for {
		ok, err := so()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not so within %s: %w", what, waitTimeout, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

type server struct {
	*program
	api                 typed.KubizoneV1alpha1Interface
	kubeconfig, secrets string
	dns                 netip.AddrPort
}

func (s *stage) startServer(ctx context.Context, name string, flags ...string) (*server, error) {
	dir := filepath.Join(s.dir, name)
	dns, err := rig.FreePort()
	if err != nil {
		return nil, err
	}
	u := &server{kubeconfig: filepath.Join(dir, "data", "kubeconfig"), dns: dns, secrets: filepath.Join(dir, "secrets")}
	if err := os.MkdirAll(u.secrets, 0o700); err != nil {
		return nil, err
	}
	if u.program, err = launchProgram(ctx, dir, s.kubizone, append([]string{
		"up", "--data-dir", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0",
		"--dns-listen", u.dns.String(), "--secrets-dir", u.secrets,
	}, flags...)...); err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", u.kubeconfig)
	if err == nil {
		config.QPS, config.WarningHandler = -1, rest.NoWarnings{} // warnings about unsigned webhook calls
		var client *versioned.Clientset
		if client, err = versioned.NewForConfig(config); err == nil {
			u.api = client.KubizoneV1alpha1()
		}
	}
	if err != nil {
		u.stop()
	}
	return u, err
}

func (u *server) writeKey(in string, key rig.TSIGKey) (*v1alpha1.SecretReference, error) {
	dir := filepath.Join(u.secrets, in, key.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for file, text := range map[string]string{"name": key.Name, "algorithm": key.Algorithm, "secret": key.Secret} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return &v1alpha1.SecretReference{Namespace: in, Name: key.Name}, nil
}

func (u *server) makeClass(ctx context.Context, name string, spec v1alpha1.DNSClassSpec) error {
	spec.AllowLocalAddresses, spec.Namespaces = true, &v1alpha1.NamespaceSelection{Names: []string{namespace}}
	_, err := u.api.DNSClasses().Create(ctx, &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	return err
}

func (u *server) makeZone(ctx context.Context, object, domain string, classes ...string) error {
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: object}, Spec: v1alpha1.ZoneSpec{
		Limits:     &v1alpha1.ZoneLimits{MaxDeletePercent: new(int32(100))},
		DomainName: domain, NameServers: []v1alpha1.NameServer{{Name: "ns.example.net."}},
		Delegations: []v1alpha1.DelegationRule{{Namespace: namespace, Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}},
	}}
	for _, class := range classes {
		zone.Spec.DNSClassRefs = append(zone.Spec.DNSClassRefs, v1alpha1.DNSClassReference{Name: class})
	}
	_, err := u.api.Zones(namespace).Create(ctx, zone, metav1.CreateOptions{})
	return err
}

const fillers = 32

func (u *server) fillZone(ctx context.Context, object string, n int) error {
	_, _, err := figures.Callers(ctx, fillers, n, func(ctx context.Context, i int) error {
		_, err := u.api.Records(namespace).Create(ctx, &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: recordObject(object, i)}, Spec: v1alpha1.RecordSpec{
			DomainName: nameHost(i), ZoneRef: &v1alpha1.ZoneReference{Name: object}, Type: "A", RData: makeAddress(0, i),
		}}, metav1.CreateOptions{})
		return err
	})
	return err
}

func (u *server) changeRecord(ctx context.Context, object string, i int, data string) error {
	_, err := u.api.Records(namespace).Patch(ctx, recordObject(object, i), types.MergePatchType, []byte(`{"spec":{"rdata":"`+data+`"}}`), metav1.PatchOptions{})
	return err
}

func recordObject(zone string, i int) string { return zone + "-" + nameHost(i) }

func nameHost(i int) string { return "r" + strconv.Itoa(i) }

func makeAddress(space, n int) string {
	return fmt.Sprintf("%d.%d.%d.%d", 10+space, n>>16&255, n>>8&255, n&255)
}
