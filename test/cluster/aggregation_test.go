// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/alertrig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// While the server is down, kube-apiserver serves its own kinds, answers 503 for ours, and finishes no namespace
// deletion, since any namespace may have our objects. All of this ends when the server is back.
func TestAggregation_serverAway(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, waitTimeout)
	typed, objects := makeClients(t, c.kube.Admin())
	for _, namespace := range []string{"away", "unrelated"} {
		must.Succeed(t, c.kube.Namespace(ctx, namespace))
	}
	must.Get(objects.Resource(zones).Namespace("away").Create(ctx, zoneObject("away", "away", "away.example.", everyName("away")),
		metav1.CreateOptions{}))(t)
	manifest := filepath.Join(t.TempDir(), "record.yaml")
	must.Succeed(t, os.WriteFile(manifest, []byte("apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {namespace: away, name: "+
		"www}\nspec: {domainName: www.away.example., type: A, rdata: 192.0.2.1}\n"), 0o600))
	user := t.TempDir()
	kubectl := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, c.kubectl, append([]string{"--kubeconfig", c.kube.AdminKubeconfig(), "-n", "away"}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+user)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	// A new kubectl would see a group without kinds, because client-go drops groups that kube-apiserver marks stale.
	if out, err := kubectl("get", "records"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	must.Succeed(t, c.server.Stop(ctx))
	back := sync.OnceValue(func() error {
		if err := c.startServer(ctx); err != nil {
			return err
		}
		_, _, err := c.kube.WaitAvailable(ctx, true)
		return err
	})
	defer func() {
		if err := back(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := objects.Resource(records).Namespace("away").List(ctx, metav1.ListOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("list: %v", err)
	}
	for _, args := range [][]string{{"get", "records"}, {"apply", "-f", manifest}, {"apply", "--server-side", "-f", manifest}, {"delete", "-f", manifest}} {
		if out, err := kubectl(args...); err == nil || !strings.Contains(out, "the server is currently unable to handle the request") {
			t.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if out, err := kubectl("get", "configmaps"); err != nil {
		t.Errorf("kubectl get configmaps: %v\n%s", err, out)
	}

	must.Succeed(t, typed.CoreV1().Namespaces().Delete(ctx, "unrelated", metav1.DeleteOptions{}))
	for failing := false; !failing; time.Sleep(50 * time.Millisecond) {
		namespace, err := typed.CoreV1().Namespaces().Get(ctx, "unrelated", metav1.GetOptions{})
		if err != nil {
			t.Fatalf("a namespace that may hold records went: %v", err)
		}
		for _, condition := range namespace.Status.Conditions {
			// Discovery fails if kube-apiserver knows already that the server is down, content if not yet.
			discovery, content := condition.Type == corev1.NamespaceDeletionDiscoveryFailure, condition.Type == corev1.NamespaceDeletionContentFailure
			if condition.Status != corev1.ConditionTrue || !discovery && !content {
				continue
			}
			failing = true
			if !strings.Contains(condition.Message, "kubi.zone/v1alpha1") && !strings.Contains(condition.Message, "unable to handle the request") {
				t.Errorf("the namespace does not say what it waits for: %s", condition.Message)
			}
		}
	}
	must.Succeed(t, back())
	begin := time.Now()
	for {
		_, err := typed.CoreV1().Namespaces().Get(ctx, "unrelated", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the namespace does not go: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("the namespace went %s after the server was back", time.Since(begin).Round(time.Millisecond))
	if out, err := kubectl("apply", "-f", manifest); err != nil {
		t.Errorf("kubectl apply: %v\n%s", err, out)
	}
}

func readServingSerial(ctx context.Context, c *cluster) (string, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.kube.ClusterCA.PEM)
	connection, err := (&tls.Dialer{Config: &tls.Config{RootCAs: roots}}).DialContext(ctx, "tcp", c.server.Addr.String())
	if err != nil {
		return "", err
	}
	defer connection.Close()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

// A serving certificate replaced on disk is used without a restart, and without a failed request through the
// aggregator. An unreadable certificate is ignored.
func TestAggregation_certificateIsFollowed(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, 2*waitTimeout)
	_, objects := makeClients(t, c.kube.Admin())
	before := must.Get(readServingSerial(ctx, c))(t)
	asking, stop := context.WithCancel(ctx)
	var requests int
	failed := make(chan error, 1)
	var done sync.WaitGroup
	done.Go(func() {
		for asking.Err() == nil {
			if _, err := objects.Resource(records).Namespace("kube-system").List(asking, metav1.ListOptions{}); err != nil && asking.Err() == nil {
				failed <- fmt.Errorf("request %d: %w", requests, err)
				return
			}
			requests++
			time.Sleep(5 * time.Millisecond)
		}
	})
	expectAlert := func(want ...string) {
		t.Helper()
		now := alertrig.Series{}
		now.AddScrape("kubizone-apiserver", "server", c.readMetrics(t))
		alertrig.State{Now: now}.ExpectOf(t, "KubizoneCertificateExpires", want...)
	}
	expectAlert()
	soon := *c.kube.ClusterCA
	soon.Lifetime = 6 * 24 * time.Hour
	pair := must.Get(soon.Serving("kubizone-apiserver.kubizone-system.svc", "localhost", "127.0.0.1"))(t)
	broken := pair
	broken.Key = []byte("no key")
	begin := time.Now()
	must.Succeed(t, c.server.Rotate(broken))
	// The server reads a changed file, and logs the failure.
	for !strings.Contains(c.server.Log(), "no key") && !strings.Contains(c.server.Log(), "tls: failed to find any PEM data") {
		if time.Since(begin) > waitTimeout {
			t.Fatalf("the server says nothing of a key that is none:\n%s", c.server.Log())
		}
		time.Sleep(20 * time.Millisecond)
	}
	if now, err := readServingSerial(ctx, c); err != nil || now != before {
		t.Errorf("after a key that is none it shows %s, %v; want %s as before", now, err, before)
	}
	must.Succeed(t, c.server.Rotate(pair))
	c.serving = pair
	begin = time.Now()
	for now := before; now == before; time.Sleep(20 * time.Millisecond) {
		now = must.Get(readServingSerial(ctx, c))(t)
		if time.Since(begin) > waitTimeout {
			t.Fatalf("it still shows the old certificate:\n%s", c.server.Log())
		}
	}
	t.Logf("followed within %s", time.Since(begin).Round(time.Millisecond))
	expectAlert("KubizoneCertificateExpires serving")
	stop()
	done.Wait()
	select {
	case err := <-failed:
		t.Error(err)
	default:
	}
	if requests == 0 {
		t.Error("no request was made meanwhile")
	}
}

// A server whose account lacks rights names each as an RBAC rule to add: at the start if it cannot authenticate users
// without them, else by being unready until granted.
func TestAggregation_missingRightsAreNamed(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, waitTimeout)
	const user = "system:serviceaccount:poor:server"
	kubeconfig := must.Get(c.kube.ServiceAccount(ctx, "poor", "server"))(t)
	config := kuberig.ServerConfig{Program: c.kubizone, Kube: c.kube, Kubeconfig: kubeconfig, Etcd: c.etcd.Endpoint, Serving: c.serving,
		Addr: must.Get(rig.FreePort())(t)}
	dir := filepath.Join(t.TempDir(), "server")
	_, err := kuberig.StartServer(ctx, dir, config)
	for _, rule := range []string{`lacks the RBAC rule {apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: [create]}`, `resourceNames: ["extension-apiserver-authentication"]} in namespace kube-system`} {
		if err == nil || !strings.Contains(err.Error(), rule) {
			t.Errorf("without any right: %v; want it to name %s", err, rule)
		}
	}

	must.Succeed(t, c.kube.Grant(ctx, "kube-system", user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"},
		Verbs: []string{"get", "list", "watch"}}))
	must.Succeed(t, c.kube.Grant(ctx, "", user,
		rbacv1.PolicyRule{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
		rbacv1.PolicyRule{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces", "resourcequotas"}, Verbs: []string{"get", "list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"resourcequotas/status"}, Verbs: []string{"update"}},
		rbacv1.PolicyRule{APIGroups: []string{"flowcontrol.apiserver.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch", "patch"}},
	))
	type started struct {
		server *kuberig.Server
		err    error
	}
	result := make(chan started, 1)
	go func() {
		server, err := kuberig.StartServer(ctx, dir, config)
		result <- started{server, err}
	}()
	admin := c.makeCallers(t, "nobody").admin
	for named := false; !named; time.Sleep(50 * time.Millisecond) {
		select {
		case r := <-result:
			t.Fatalf("it starts or ends without rights that it needs: %v", r.err)
		default:
		}
		got, err := c.sendRaw(ctx, config.Addr, admin, "GET /readyz/permissions")
		if err != nil || got.status == http.StatusUnauthorized || strings.Contains(got.body, "not asked yet") {
			continue // still starting: the CA for users comes by informer
		}
		named = true
		for _, resource := range []string{"validatingadmissionpolicies", "mutatingadmissionpolicybindings", "validatingwebhookconfigurations"} {
			if rule := `lacks the RBAC rule {apiGroups: ["admissionregistration.k8s.io"], resources: ["` + resource + `"], verbs: [get, list, watch]}`; got.status < 500 || !strings.Contains(got.body, rule) {
				t.Errorf("it says %d %s; want it to name %s", got.status, got.body, rule)
			}
		}
	}
	typed, _ := makeClients(t, c.kube.Admin())
	role := must.Get(typed.RbacV1().ClusterRoles().Get(ctx, user, metav1.GetOptions{}))(t)
	role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}})
	must.Get(typed.RbacV1().ClusterRoles().Update(ctx, role, metav1.UpdateOptions{}))(t)
	r := <-result
	if r.err != nil {
		t.Fatal(r.err)
	}
	if err := r.server.Close(); err != nil {
		t.Error(err)
	}
}
