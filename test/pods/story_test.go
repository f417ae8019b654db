// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package pods

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
	"kubi.zone/kubizone/test/rig/noderig"
)

const waitTimeout = 5 * time.Minute

// servers is the namespace of the name servers, team that of a tenant.
const servers, team = "dns-system", "team"

func TestMain(m *testing.M) {
	flag.Parse()
	// The parts of the story mostly wait.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(noderig.Main(m, findPrograms))
}

func findPrograms(ctx context.Context, dir string) (noderig.Programs, error) {
	programs := noderig.Programs{}
	if _, err := rig.Find("named", "apt-get install bind9"); err != nil {
		return nil, err
	}
	var err error
	if programs["kubizone"], err = rig.Kubizone(ctx, dir, ""); err != nil {
		return nil, err
	}
	if programs["bindcar"], err = rig.BindcarProgram(); err != nil && !rig.Skips(err) {
		return nil, err
	}
	if rig.Long() {
		programs["kubizone-gardener"], err = rig.Gardener(ctx, dir)
		return programs, err
	}
	return programs, nil
}

type world struct {
	ctx      context.Context
	kube     *kuberig.Kube
	node     *noderig.Node
	core     *kubernetes.Clientset
	kubizone *versioned.Clientset
	helm     string
	kubectl  string
	dir      string
	// killed are the containers ended by a test, as POD/CONTAINER.
	killed sync.Map
}

func (w *world) waitUntil(t *testing.T, what string, fact func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, waitTimeout)
	defer cancel()
	begin := time.Now()
	rig.Until(ctx, t, what, fact)
	t.Logf("%s: after %s", what, time.Since(begin).Round(100*time.Millisecond))
}

func (w *world) applyObjects(t *testing.T, kubeconfig, objects string) {
	t.Helper()
	command := exec.CommandContext(w.ctx, w.kubectl, "--kubeconfig", kubeconfig, "apply", "-f", "-")
	command.Env = append(os.Environ(), "KUBECACHEDIR="+filepath.Join(w.dir, filepath.Base(kubeconfig)+".cache"))
	command.Stdin = strings.NewReader(objects)
	if out, err := command.CombinedOutput(); err != nil || strings.Contains(string(out), "arning") {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
}

func (w *world) applyAs(t *testing.T, user, file string) {
	t.Helper()
	kubeconfig := must.Get(w.kube.Tenant(user))(t)
	w.applyObjects(t, kubeconfig, readFile(t, file))
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("testdata", file)))(t)
	return string(text)
}

func (w *world) renderChart(t *testing.T, namespace, chart string, set ...string) string {
	t.Helper()
	arguments := []string{"template", chart, "../../charts/" + chart, "-n", namespace}
	for _, one := range set {
		arguments = append(arguments, "--set", one)
	}
	command := exec.CommandContext(w.ctx, w.helm, arguments...)
	command.Env = append(os.Environ(), "HELM_CACHE_HOME="+w.dir, "HELM_CONFIG_HOME="+w.dir, "HELM_DATA_HOME="+w.dir)
	var wrong strings.Builder
	command.Stderr = &wrong
	out, err := command.Output()
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, &wrong)
	}
	return string(out)
}

func (w *world) makeNamespace(t *testing.T, name string) {
	t.Helper()
	labels := map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted"}
	must.Get(w.core.CoreV1().Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}},
		metav1.CreateOptions{}))(t)
}

func installChart(t *testing.T) *world {
	w := &world{ctx: t.Context(), dir: noderig.Dir(t)}
	var err error
	w.helm = rig.Need(rig.Tool("helm"))(t)
	w.kubectl = rig.Need(rig.KubeProgram("kubectl"))(t)
	w.kube = rig.NeedServer(kuberig.StartKube(w.ctx, filepath.Join(w.dir, "kube"), noderig.KubeConfig()))(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, end := context.WithCancel(w.ctx)
	t.Cleanup(end)
	w.node, err = noderig.StartNode(ctx, w.kube, func(err error) { t.Error(err) })
	must(err)
	w.core, err = w.kube.Clients()
	must(err)
	w.kubizone, err = versioned.NewForConfig(w.kube.Admin())
	must(err)
	for _, namespace := range []string{kuberig.InstallNamespace, servers, team, "platform", "gardener"} {
		w.makeNamespace(t, namespace)
	}
	set := []string{"image.repository=registry.example/kubizone", "aggregateRoles=true", "primary.enabled=true", "primary.tsigSecretName=",
		"fleet.enabled=true", "fleet.namespaces={" + servers + "}", "gardener.enabled=true", "gardener.namespaces={gardener}", "classes.bindcar.secrets." + servers + "={bindcar-secondary-0-agent}"}
	w.applyObjects(t, w.kube.AdminKubeconfig(), w.renderChart(t, kuberig.InstallNamespace, "kubizone", set...))
	t.Cleanup(func() { w.checkParts(t) })
	if _, _, err := w.kube.WaitAvailable(w.ctx, true); err != nil {
		t.Fatalf("%v%s", err, w.readLogs(kuberig.InstallNamespace))
	}
	w.waitUntil(t, "the kinds are there", func() error {
		_, err := w.kubizone.KubizoneV1alpha1().Zones("").List(w.ctx, metav1.ListOptions{})
		if err == nil {
			_, err = w.kubizone.Bind9V1alpha1().Bind9Clusters("").List(w.ctx, metav1.ListOptions{})
		}
		return err
	})
	return w
}

// refused matches a part's log of a request beyond the rights.
var refused = regexp.MustCompile(`(?m)^.*(cannot \w+ resource|lacks the RBAC rule).*$`)

// checkParts requires that no part was refused a request, and that none has ended.
func (w *world) checkParts(t *testing.T) {
	for _, namespace := range []string{kuberig.InstallNamespace, servers, "garden"} {
		for container, log := range w.node.Logs(namespace, "") {
			if line := refused.FindString(log); line != "" {
				t.Errorf("%s/%s was refused something: %s", namespace, container, line)
			}
			ends := `(?m)^(ended: .*|panic: .*|.*A part of the server has ended.*)$`
			if _, killed := w.killed.Load(container); killed {
				ends = `(?m)^(panic: .*)$`
			}
			if line := regexp.MustCompile(ends).FindString(log); line != "" {
				t.Errorf("%s/%s %s", namespace, container, line)
			}
		}
		if t.Failed() {
			t.Log(w.readLogs(namespace))
		}
	}
}

func (w *world) readLogs(namespace string) string {
	var all strings.Builder
	for container, log := range w.node.Logs(namespace, "") {
		fmt.Fprintf(&all, "\n== %s/%s\n%s", namespace, container, log[max(0, len(log)-3000):])
	}
	return all.String()
}

func (w *world) getZone(name string) (*v1alpha1.Zone, error) {
	return w.kubizone.KubizoneV1alpha1().Zones(team).Get(w.ctx, name, metav1.GetOptions{})
}

// waitReady waits until Ready of a Zone of the team has a status, or either of two: True, False|Unknown.
func (w *world) waitReady(t *testing.T, name string, want string) {
	t.Helper()
	w.waitUntil(t, fmt.Sprintf("Ready of Zone %s is %s", name, want), func() error {
		zone, err := w.getZone(name)
		if err != nil {
			return err
		}
		for _, c := range zone.Status.Conditions {
			if c.Type != v1alpha1.ConditionReady {
				continue
			}
			for one := range strings.SplitSeq(want, "|") {
				if one == string(c.Status) {
					return nil
				}
			}
			return fmt.Errorf("it is %s/%s: %s", c.Status, c.Reason, c.Message)
		}
		return errors.New("it has none")
	})
}

func (w *world) askServer(server, name string, of uint16) (string, error) {
	service, err := w.core.CoreV1().Services(servers).Get(w.ctx, server, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	question := new(dns.Msg).SetQuestion(name, of)
	question.RecursionDesired = false
	question.SetEdns0(1232, true)
	answer, _, err := (&dns.Client{Net: "tcp", Timeout: 5 * time.Second}).ExchangeContext(w.ctx, question, net.JoinHostPort(service.Spec.ClusterIP, "53"))
	if err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintln(&text, dns.RcodeToString[answer.Rcode])
	for _, rr := range answer.Answer {
		fmt.Fprintln(&text, rr)
	}
	return text.String(), nil
}

// waitAnswer waits until the servers' answers contain the texts, except for texts with a "!", which must be absent.
func (w *world) waitAnswer(t *testing.T, all []string, name string, of uint16, want ...string) {
	t.Helper()
	for _, server := range all {
		w.waitUntil(t, fmt.Sprintf("%s answers for %s with %q", server, name, want), func() error {
			out, err := w.askServer(server, name, of)
			if err != nil {
				return err
			}
			for _, text := range want {
				if absent, not := strings.CutPrefix(text, "!"); strings.Contains(out, absent) == not {
					return fmt.Errorf("it answers %s", out)
				}
			}
			return nil
		})
	}
}

// The user has the rights that RBAC grants to the name.
func (w *world) clientAs(t *testing.T, user string) *versioned.Clientset {
	t.Helper()
	kubeconfig := must.Get(w.kube.Tenant(user))(t)
	config := must.Get(kuberig.ClientConfig(kubeconfig))(t)
	return must.Get(versioned.NewForConfig(config))(t)
}

// TestChart_carriesAFleetThroughItsLife: with no rights but the chart's, a tenant's zones are delivered, signed, and
// unsigned again; lost servers, processes and zones are noticed; and Gardener gets its names.
func TestChart_carriesAFleetThroughItsLife(t *testing.T) {
	w := installChart(t)
	w.applyObjects(t, w.kube.AdminKubeconfig(), readFile(t, "platform.yaml"))
	// kube-controller-manager aggregates the roles.
	w.waitUntil(t, "alice and bob have the roles of the chart", func() error {
		for user, resource := range map[string]string{"alice": "zones.kubi.zone", "bob": "bind9clusters.bind9.kubi.zone"} {
			kubeconfig, err := w.kube.Tenant(user)
			if err != nil {
				return err
			}
			namespace := map[string]string{"alice": team, "bob": servers}[user]
			if out, err := exec.CommandContext(w.ctx, w.kubectl, "--kubeconfig", kubeconfig, "auth", "can-i", "create", resource, "-n", namespace).CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w %s", user, err, out)
			}
		}
		return nil
	})
	w.applyAs(t, "bob", "servers.yaml")
	w.applyAs(t, "alice", "zones.yaml")
	t.Run("story", func(t *testing.T) {
		t.Run("a pod has what its spec says", w.runsPods)
		t.Run("a zone is signed and unsigned", w.signAndUnsign)
		t.Run("a class waits for its servers", w.waitsForServers)
		t.Run("a bindcar makes zones", w.usesBindcar)
		t.Run("a class loses its servers", w.losesServers)
		t.Run("a server loses a zone", w.losesZone)
		t.Run("an agent dies, and a BIND", w.losesProcesses)
		t.Run("Gardener asks for a name", w.servesGardener)
	})
	t.Run("the primary is lost", w.losesPrimary)
	t.Run("processes have Leases", w.knowsProcesses)
}

func mustAddress(t *testing.T, w *world, service string) string {
	t.Helper()
	of := must.Get(w.core.CoreV1().Services(team).Get(w.ctx, service, metav1.GetOptions{}))(t)
	return of.Spec.ClusterIP
}

func (w *world) runsPods(t *testing.T) {
	t.Parallel()
	w.applyObjects(t, w.kube.AdminKubeconfig(), readFile(t, "pod.yaml"))
	run := func(script string) string {
		t.Helper()
		out, err := w.node.Execute(w.ctx, team, "plain", "main", "sh", "-c", script)
		if err != nil {
			t.Error(err)
		}
		return strings.TrimSpace(out)
	}
	w.waitUntil(t, "the pod is ready, after its second start", func() error {
		pod, err := w.core.CoreV1().Pods(team).Get(w.ctx, "plain", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if all := pod.Status.ContainerStatuses; len(all) != 1 || !all[0].Ready || all[0].RestartCount != 1 {
			return fmt.Errorf("%+v", pod.Status)
		}
		return nil
	})
	for script, want := range map[string]string{
		"id -u; id -g; id -G": "4711\n4712\n4712 4713",
		"grep -c 'Cap[IPEA].*:.0000000000000000' /proc/self/status": "4",
		"touch /here 2>&1 | grep -o Read-only":                      "Read-only",
		"touch /config/here 2>&1 | grep -o Read-only":               "Read-only",
		"touch /state/here && stat -c %g /state/here":               "4713",
		"cat /config/text": "one",
		"echo $OWN":        "plain of team",
		"getent ahostsv4 kubernetes.default | cut -d' ' -f1 | uniq": "10.96.0.1",
	} {
		if got := run(script); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
	token := run("cut -d. -f2 /var/run/secrets/kubernetes.io/serviceaccount/token | base64 -di 2>/dev/null || true")
	if !strings.Contains(token, `"pod":{"name":"plain"`) || !strings.Contains(token, "system:serviceaccount:team:default") {
		t.Errorf("the token is %s", token)
	}
	must.Get(w.core.CoreV1().ConfigMaps(team).Patch(w.ctx, "plain", types.MergePatchType, []byte(`{"data":{"text":"two"}}`),
		metav1.PatchOptions{}))(t)
	w.waitUntil(t, "the volume follows the ConfigMap", func() error {
		if got := run("cat /config/text"); got != "two" {
			return errors.New(got)
		}
		return nil
	})
	at := net.JoinHostPort(mustAddress(t, w, "plain"), "80")
	w.waitUntil(t, "the Service leads to the pod", func() error {
		connection, err := net.Dial("tcp", at)
		if err == nil {
			connection.Close()
		}
		return err
	})
	must.Succeed(t, w.core.CoreV1().Pods(team).Delete(w.ctx, "plain", metav1.DeleteOptions{}))
	w.waitUntil(t, "the pod has gone, and its Service refuses", func() error {
		if _, err := w.core.CoreV1().Pods(team).Get(w.ctx, "plain", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is still there: %v", err)
		}
		if connection, err := net.Dial("tcp", at); !errors.Is(err, syscall.ECONNREFUSED) {
			if err == nil {
				connection.Close()
			}
			return fmt.Errorf("the Service answers: %v", err)
		}
		return nil
	})
	log := w.node.Logs(team, "plain")["plain/main"]
	if !strings.Contains(log, "told to end") {
		t.Errorf("it was not told to end:\n%s", log)
	}
}

// signAndUnsign: a zone becomes signed and unsigned again, and then is served with later changes (S12.5).
func (w *world) signAndUnsign(t *testing.T) {
	t.Parallel()
	all := []string{"main-primary-0", "main-secondary-0"}
	phase := func() (v1alpha1.DNSSECPhase, string) {
		zone, err := w.getZone("signed")
		if err != nil {
			return "", err.Error()
		}
		if zone.Status.DNSSEC == nil {
			return "", ""
		}
		return zone.Status.DNSSEC.Phase, zone.Status.DNSSEC.Message
	}
	w.waitUntil(t, "the zone is signed", func() error {
		if is, message := phase(); is != v1alpha1.DNSSECSigned {
			return fmt.Errorf("%s: %s", is, message)
		}
		return nil
	})
	w.waitAnswer(t, all, "www.signed.example.", dns.TypeA, "192.0.2.80", "RRSIG")
	w.waitAnswer(t, all, "signed.example.", dns.TypeDS, "\tDS\t") // of the zone above
	w.waitReady(t, "signed", "True")
	alice := w.clientAs(t, "alice").KubizoneV1alpha1()
	must.Get(alice.Zones(team).Patch(w.ctx, "signed", types.MergePatchType, []byte(`{"spec":{"dnssec":null}}`), metav1.PatchOptions{}))(t)
	w.waitUntil(t, "the zone is unsigned again", func() error {
		if is, message := phase(); is+v1alpha1.DNSSECPhase(message) != "" {
			return fmt.Errorf("%s: %s", is, message)
		}
		return nil
	})
	must.Get(alice.Records(team).Patch(w.ctx, "signed-www", types.MergePatchType, []byte(`{"spec":{"rdata":"192.0.2.81"}}`),
		metav1.PatchOptions{}))(t)
	w.waitAnswer(t, all, "www.signed.example.", dns.TypeA, "192.0.2.81", "!RRSIG")
	w.waitAnswer(t, all, "signed.example.", dns.TypeDS, "!\tDS\t")
	w.waitReady(t, "signed", "True")
}

// selectsNone matches the controller's log of a delivery by a class without servers.
var selectsNone = regexp.MustCompile(`class="late" .*the class selects no instance`)

// waitsForServers: servers added after the class and zones were seen without servers get the zones.
func (w *world) waitsForServers(t *testing.T) {
	t.Parallel()
	w.waitReady(t, "late", "False|Unknown")
	attempts := func() (n int) {
		for _, log := range w.node.Logs(kuberig.InstallNamespace, kuberig.ServerName) {
			n += len(selectsNone.FindAllString(log, -1))
		}
		return n
	}
	w.waitUntil(t, "no server was found", func() error {
		if attempts() == 0 {
			return errors.New("there was no attempt")
		}
		return nil
	})
	// A failure is retried within a minute, and after three minutes of attempts only every ten minutes.
	quiet := 3 * time.Second
	if rig.Long() {
		quiet = 70 * time.Second
	}
	for last, since := attempts(), time.Now(); time.Since(since) < quiet; time.Sleep(time.Second) {
		if now := attempts(); now != last {
			last, since = now, time.Now()
		}
	}
	w.applyAs(t, "bob", "late.yaml")
	w.waitReady(t, "late", "True")
	w.waitAnswer(t, []string{"late-secondary-0"}, "www.late.example.", dns.TypeA, "192.0.2.80")
}

// waitQuiet waits until a Zone of the team has been Ready for a while: a change of its class or servers would trigger
// new comparisons.
func (w *world) waitQuiet(t *testing.T, name string) {
	t.Helper()
	w.waitUntil(t, "Zone "+name+" is Ready, and all is quiet", func() error {
		zone, err := w.getZone(name)
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionReady)
		if c == nil || c.Status != metav1.ConditionTrue || time.Since(c.LastTransitionTime.Time) < 15*time.Second {
			return fmt.Errorf("%+v", c)
		}
		return nil
	})
}

func (w *world) losesServers(t *testing.T) {
	t.Parallel()
	w.waitQuiet(t, "going")
	w.waitAnswer(t, []string{"going-secondary-0"}, "www.going.example.", dns.TypeA, "192.0.2.80")
	must.Succeed(t, w.clientAs(t, "bob").Bind9V1alpha1().Bind9Clusters(servers).Delete(w.ctx, "going", metav1.DeleteOptions{}))
	w.waitReady(t, "going", "False|Unknown")
}

// losesZone: a server that has lost a member of the catalog gets the zone again.
func (w *world) losesZone(t *testing.T) {
	t.Parallel()
	server := []string{"drifting-secondary-0"}
	w.waitQuiet(t, "drifting")
	w.waitAnswer(t, server, "www.drifting.example.", dns.TypeA, "192.0.2.80")
	w.waitUntil(t, "the server has lost the zone", func() error {
		out, err := w.node.Execute(w.ctx, servers, server[0], "bind9", "rndc", "-s", "127.0.0.1", "-p", "9530", "-k", "/etc/bind/rndc.key", "delzone", "drifting.example")
		if err != nil {
			return err
		}
		if answer, err := w.askServer(server[0], "www.drifting.example.", dns.TypeA); err != nil || strings.Contains(answer, "192.0.2.80") {
			return fmt.Errorf("%s: it answers %s, %w", out, answer, err)
		}
		return nil
	})
	w.waitAnswer(t, server, "www.drifting.example.", dns.TypeA, "192.0.2.80")
	w.waitReady(t, "drifting", "True")
}

// losesProcesses: a BIND that answers stays in its Service while the agent is dead or hangs, which the status
// reports; a BIND that has died returns with all zones (S11.25, S11.32).
func (w *world) losesProcesses(t *testing.T) {
	t.Parallel()
	const server, name, agent, bind = "dying-secondary-0", "www.dying.example.", "agent", "bind9"
	w.waitReady(t, "dying", "True")
	w.waitAnswer(t, []string{server}, name, dns.TypeA, "192.0.2.80")
	processes := func(container string) []int {
		t.Helper()
		return must.Get(w.node.Processes(servers, server, container))(t)
	}
	// ask queries the Service until stop, which returns the responses without the address.
	ask := func() (stop func() (asked int, wrong []string)) {
		ctx, cancel := context.WithCancel(w.ctx)
		asked, wrong, ended := 0, []string(nil), make(chan struct{})
		go func() {
			defer close(ended)
			for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
				asked++
				if out, err := w.askServer(server, name, dns.TypeA); err != nil || !strings.Contains(out, "192.0.2.80") {
					wrong = append(wrong, fmt.Sprintf("%s %s%v", time.Now().Format("15:04:05.000"), out, err))
				}
			}
		}()
		return func() (int, []string) { cancel(); <-ended; return asked, wrong }
	}
	stays := func(what string, loseAgent func()) {
		t.Helper()
		stop := ask()
		loseAgent()
		if asked, wrong := stop(); len(wrong) > 0 || asked < 5 {
			t.Errorf("%s: %d of %d questions to the Service have no answer: %q", what, len(wrong), asked, wrong[:min(5, len(wrong))])
		}
	}
	waitForAnother := func(former int) {
		t.Helper()
		w.waitUntil(t, "another agent runs", func() error {
			if all := processes(agent); len(all) != 2 || all[1] == former {
				return fmt.Errorf("%d", all)
			}
			return nil
		})
	}
	for what, signal := range map[string]syscall.Signal{"an agent dies": syscall.SIGKILL, "an agent hangs": syscall.SIGSTOP} {
		stays(what, func() {
			child := processes(agent)[1]
			must.Succeed(t, syscall.Kill(child, signal))
			waitForAnother(child)
		})
	}
	degraded := func(want metav1.ConditionStatus, reason string) {
		t.Helper()
		w.waitUntil(t, fmt.Sprintf("Degraded of %s is %s, reason %s", server, want, reason), func() error {
			instance, err := w.kubizone.Bind9V1alpha1().Bind9Instances(servers).Get(w.ctx, server, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if c := meta.FindStatusCondition(instance.Status.Conditions, "Degraded"); c == nil || c.Status != want || c.Reason != reason {
				return fmt.Errorf("%+v", c)
			}
			return nil
		})
	}
	degraded(metav1.ConditionFalse, "AsExpected")
	stays("an agent and its supervisor hang", func() {
		all := processes(agent)
		for _, id := range all {
			must.Succeed(t, syscall.Kill(id, syscall.SIGSTOP))
		}
		degraded(metav1.ConditionTrue, "AgentSilent")
		for _, id := range all {
			must.Succeed(t, syscall.Kill(id, syscall.SIGCONT))
		}
	})
	its := metav1.ListOptions{LabelSelector: "bind9.kubi.zone/instance=" + server}
	pod := must.Get(w.core.CoreV1().Pods(servers).List(w.ctx, its))(t).Items[0].Name
	ready := func(want bool, restarts int32) {
		t.Helper()
		w.waitUntil(t, fmt.Sprintf("BIND in the pod of %s is ready: %t, after %d starts more", server, want, restarts), func() error {
			pod, err := w.core.CoreV1().Pods(servers).Get(w.ctx, pod, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, c := range pod.Status.ContainerStatuses {
				if c.Name == bind && (c.Ready != want || c.RestartCount != restarts) {
					return fmt.Errorf("%+v", c)
				}
			}
			return nil
		})
	}
	// A hanging BIND leaves the Service, and so does a dead BIND. named answers for no zone before loading.
	named := processes(bind)[0]
	must.Succeed(t, syscall.Kill(named, syscall.SIGSTOP))
	ready(false, 0)
	must.Succeed(t, syscall.Kill(named, syscall.SIGCONT))
	ready(true, 0)
	stop := ask()
	w.killed.Store(pod+"/"+bind, true)
	must.Succeed(t, syscall.Kill(named, syscall.SIGKILL))
	ready(true, 1)
	w.waitAnswer(t, []string{server}, name, dns.TypeA, "192.0.2.80")
	if _, wrong := stop(); slices.ContainsFunc(wrong, func(text string) bool {
		return strings.Contains(text, "REFUSED") || strings.Contains(text, "SERVFAIL") || strings.Contains(text, "NXDOMAIN")
	}) {
		t.Errorf("it answers for a zone that it has not: %q", wrong)
	}
	degraded(metav1.ConditionFalse, "AsExpected") // agents are asked once a minute
}

// losesPrimary: the process with the only hidden primary is killed, and the next sends no NOTIFY before its Service
// leads to it: BIND queries at once, and holds back later NOTIFYs while such a query is unanswered.
func (w *world) losesPrimary(t *testing.T) {
	const server, zone = "dying-secondary-0", "dying"
	w.waitQuiet(t, zone)
	alice := w.clientAs(t, "alice").KubizoneV1alpha1()
	failures := func() (lines []string) {
		for container, log := range w.node.Logs(servers, server) {
			if strings.HasSuffix(container, "/bind9") {
				lines = append(lines, regexp.MustCompile(`(?m)^.*refresh: failure trying primary.*$`).FindAllString(log, -1)...)
			}
		}
		return lines
	}
	for container := range w.node.Logs(kuberig.InstallNamespace, kuberig.ServerName) {
		w.killed.Store(container, true)
	}
	rounds := 1
	if rig.Long() {
		rounds = 3
	}
	for round := range rounds {
		before, address := len(failures()), fmt.Sprintf("192.0.2.%d", 90+round)
		pod := must.Get(w.node.Processes(kuberig.InstallNamespace, kuberig.ServerName, "apiserver"))(t)
		must.Succeed(t, syscall.Kill(pod[0], syscall.SIGKILL))
		w.waitUntil(t, "the API answers again", func() error {
			_, err := alice.Records(team).Patch(w.ctx, "dying-www", types.MergePatchType, []byte(`{"spec":{"rdata":"`+address+`"}}`),
				metav1.PatchOptions{})
			return err
		})
		w.waitAnswer(t, []string{server}, "www.dying.example.", dns.TypeA, address)
		if all := failures(); len(all) > before {
			t.Errorf("the secondary asked in vain: %q", all[before:])
		}
	}
}

// usesBindcar: a secondary whose agent is a bindcar gets zones.
func (w *world) usesBindcar(t *testing.T) {
	t.Parallel()
	rig.Need(rig.BindcarProgram())(t)
	primary := must.Get(w.core.CoreV1().Services(kuberig.InstallNamespace).Get(w.ctx, "kubizone-primary", metav1.GetOptions{}))(t)
	w.applyObjects(t, w.kube.AdminKubeconfig(), strings.ReplaceAll(readFile(t, "bindcar.yaml"), "PRIMARY", primary.Spec.ClusterIP))
	w.waitReady(t, "bindcar", "True")
	w.waitAnswer(t, []string{"bindcar-secondary-0"}, "www.bindcar.example.", dns.TypeA, "192.0.2.80")
}

var dnsRecords = schema.GroupVersionResource{Group: "extensions.gardener.cloud", Version: "v1alpha1", Resource: "dnsrecords"}

// servesGardener: kubizone-gardener reconciles a DNSRecord with the chart's account, and the name is answered.
func (w *world) servesGardener(t *testing.T) {
	t.Parallel()
	if !rig.Long() {
		t.Skip("kubizone-gardener takes minutes to build: KUBIZONE_TEST_LONG=1")
	}
	admin := w.kube.AdminKubeconfig()
	w.makeNamespace(t, "garden")
	w.makeNamespace(t, "shoot--test--one")
	definitions, err := filepath.Glob("../../cmd/kubizone-gardener/testdata/*-crd-*.yaml")
	if err != nil || len(definitions) != 2 {
		t.Fatal(definitions, err)
	}
	for _, file := range append(definitions, "testdata/gardener.yaml") {
		text := must.Get(os.ReadFile(file))(t)
		w.applyObjects(t, admin, string(text))
	}
	must.Succeed(t, w.kube.WaitDefinitions(w.ctx))
	w.applyObjects(t, admin, w.renderChart(t, "garden", "kubizone-gardener"))
	config := clientcmdapi.NewConfig()
	w.waitUntil(t, "the account has a token", func() error {
		account, err := w.core.CoreV1().Secrets("gardener").Get(w.ctx, "gardener-landscape", metav1.GetOptions{})
		if err == nil && len(account.Data["token"]) == 0 {
			err = errors.New("it has none")
		}
		if err == nil {
			config.AuthInfos["it"] = &clientcmdapi.AuthInfo{Token: string(account.Data["token"])}
			config.Clusters["it"] = &clientcmdapi.Cluster{Server: "https://kubernetes.default.svc", CertificateAuthorityData: account.Data["ca.crt"]}
		}
		return err
	})
	config.Contexts["it"], config.CurrentContext = &clientcmdapi.Context{Cluster: "it", AuthInfo: "it"}, "it"
	kubeconfig := must.Get(clientcmd.Write(*config))(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "dnsrecord-one"}, Data: map[string][]byte{"kubeconfig": kubeconfig, "namespace": []byte("gardener")}}
	must.Get(w.core.CoreV1().Secrets("shoot--test--one").Create(w.ctx, secret, metav1.CreateOptions{}))(t)
	w.applyObjects(t, admin, readFile(t, "shoot.yaml"))
	client := must.Get(dynamic.NewForConfig(w.kube.Admin()))(t)
	w.waitUntil(t, "the DNSRecord is made", func() error {
		record, err := client.Resource(dnsRecords).Namespace("shoot--test--one").Get(w.ctx, "one-external", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if state, _, _ := unstructured.NestedString(record.Object, "status", "lastOperation", "state"); state != "Succeeded" {
			return fmt.Errorf("%+v", record.Object["status"])
		}
		return nil
	})
	w.waitAnswer(t, []string{"main-primary-0", "main-secondary-0"}, "api.one.shoots.example.", dns.TypeA, "192.0.2.90")
}

// knowsProcesses: each process of the pod renews a Lease, by which the server names the cause of a Zone that waits
// (test/oncall).
func (w *world) knowsProcesses(t *testing.T) {
	w.waitUntil(t, "controller and primary have Leases", func() error {
		leases, err := w.core.CoordinationV1().Leases(kuberig.InstallNamespace).List(w.ctx,
			metav1.ListOptions{LabelSelector: heartbeat.LabelProcess})
		if err != nil {
			return err
		}
		renewed := map[string]bool{}
		for _, lease := range leases.Items {
			at := lease.Spec.RenewTime
			renewed[lease.Labels[heartbeat.LabelProcess]] = at != nil && time.Since(at.Time) < time.Minute
		}
		if !renewed[heartbeat.Controller] || !renewed[heartbeat.Primary] {
			return fmt.Errorf("%v", renewed)
		}
		return nil
	})
}
