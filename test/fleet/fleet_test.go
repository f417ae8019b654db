// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/pkg/bind9/fleet"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
	"kubi.zone/kubizone/test/rig/noderig"
)

const waitTimeout = 2 * time.Minute

func TestMain(m *testing.M) {
	if os.Getenv("BIND_ZONE_DIR") != "" { // in a pod
		panic(serveBindcar())
	}
	rig.RetrySoon()
	os.Exit(noderig.Main(m, findPrograms))
}

func findPrograms(ctx context.Context, dir string) (programs noderig.Programs, err error) {
	programs = noderig.Programs{}
	if _, err = rig.Find("named", "apt-get install bind9"); err != nil {
		return nil, err
	}
	if programs["kubizone"], err = rig.Kubizone(ctx, dir, ""); err != nil {
		return nil, err
	}
	if programs["kubectl-kubizone"], err = rig.Client(ctx, dir); err != nil {
		return nil, err
	}
	if programs["bindcar-real"], err = rig.BindcarProgram(); err != nil && !rig.Skips(err) {
		return nil, err
	}
	programs["bindcar-double"], err = os.Executable()
	return programs, err
}

var (
	home     string
	makeHome sync.Once
)

type cluster struct {
	kube       *kuberig.Kube
	node       *noderig.Node
	failed     atomic.Pointer[error] // of the node
	program    string                // path of the kubizone binary
	client     string                // path of kubectl-kubizone
	core       *kubernetes.Clientset
	kubizone   *versioned.Clientset
	server     *kuberig.Server
	kubeconfig string
}

var shared = sync.OnceValues(func() (*cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c := &cluster{program: noderig.Program("kubizone"), client: noderig.Program("kubectl-kubizone"), server: &kuberig.Server{}}
	config := noderig.KubeConfig()
	config.ControllerManager = false // until the API is aggregated
	var err error
	if c.kube, err = kuberig.StartKube(ctx, filepath.Join(home, "kube"), config); err != nil {
		return nil, err
	}
	if c.kubeconfig, err = c.kube.Delegate(ctx); err != nil {
		return nil, err
	}
	if err := c.startServer(ctx); err != nil {
		return nil, err
	}
	if err := c.kube.Aggregate(ctx, c.server.Addr, c.kube.ClusterCA.PEM); err != nil {
		return nil, err
	}
	if _, _, err := c.kube.WaitAvailable(ctx, true); err != nil {
		return nil, err
	}
	if c.core, err = c.kube.Clients(); err != nil {
		return nil, err
	}
	admin := c.kube.Admin()
	admin.QPS = -1
	if c.kubizone, err = versioned.NewForConfig(admin); err != nil {
		return nil, err
	}
	for {
		if _, err = c.kubizone.Bind9V1alpha1().Bind9Instances("").List(ctx, metav1.ListOptions{}); err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil, err
		}
		time.Sleep(50 * time.Millisecond)
	}
	if c.node, err = noderig.StartNode(context.Background(), c.kube, func(err error) { c.failed.Store(&err) }); err != nil {
		return nil, err
	}
	return c, c.kube.StartControllerManager(ctx)
})

func (c *cluster) startServer(ctx context.Context) error {
	server, err := kuberig.StartServer(ctx, filepath.Join(home, "server"), kuberig.ServerConfig{
		Program: c.program, Kube: c.kube, Kubeconfig: c.kubeconfig, Addr: c.server.Addr, Args: []string{"--bind9-image-repositories=registry.example/"},
	})
	if err == nil {
		*c.server = *server
	}
	return err
}

func requireCluster(t *testing.T) *cluster {
	t.Helper()
	dir := noderig.Dir(t)
	makeHome.Do(func() { home = dir })
	return rig.Need(shared())(t)
}

type world struct {
	*cluster
	t         *testing.T
	ctx       context.Context
	namespace string
	reported  *events.FakeRecorder
	// loaded maps each instance to the configuration hash reported by its pods; guarded by mu.
	mu     sync.Mutex
	loaded map[string]string
	writes atomic.Int64
	stop   func()
}

func (w *world) countWrites(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodGet {
			w.writes.Add(1)
		}
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func makePlatform() render.Platform {
	return render.Platform{Installation: "kubizone-system.kubizone-fleet", BINDRepository: "docker.io/internetsystemsconsortium/bind9",
		AgentImage: "registry.example/kubizone:v0", ClientNamespace: "kubizone-system"}
}

func newWorld(t *testing.T, namespace string) *world {
	c := requireCluster(t)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	w := &world{cluster: c, t: t, ctx: ctx, namespace: namespace, loaded: map[string]string{}, reported: events.NewFakeRecorder(1000)}
	t.Cleanup(func() {
		c.node.Leave(w.namespace)
		if err := c.failed.Load(); err != nil {
			t.Error(*err)
		}
	})
	must.Get(c.core.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}, metav1.CreateOptions{}))(w.t)
	return w
}

func (w *world) startProgram(kubeconfig string, arguments ...string) *rig.Process {
	w.t.Helper()
	return rig.RunProcess(w.t, w.program, append(arguments, "--kubeconfig", kubeconfig, "--health-listen", "127.0.0.1:0")...)
}

// startDelivery starts a primary, whose address it returns, and a controller.
func (w *world) startDelivery() netip.AddrPort {
	w.t.Helper()
	at := w.findPort()
	for _, arguments := range [][]string{
		{"primary", "--dns-listen", at.String(), "--transfer-allow="}, {"controller", "--lease", w.namespace + "/controller",
			rig.LongLease},
	} {
		w.startProgram(w.kube.AdminKubeconfig(), arguments...)
	}
	return at
}

// findPort is at an address that pods reach.
func (w *world) findPort() netip.AddrPort {
	w.t.Helper()
	return netip.AddrPortFrom(netip.MustParseAddr(noderig.Host), must.Get(rig.FreePort())(w.t).Port())
}

// findService waits for the Service of a server.
func (w *world) findService(server string) (at netip.AddrPort) {
	w.t.Helper()
	w.waitUntil("the Service "+server+" has an address", func() error {
		service, err := w.core.CoreV1().Services(w.namespace).Get(w.ctx, server, metav1.GetOptions{})
		if err != nil {
			return err
		}
		ip, err := netip.ParseAddr(service.Spec.ClusterIP)
		at = netip.AddrPortFrom(ip, 53)
		return err
	})
	return at
}

// readLog returns the log of a container in the pods of a server.
func (w *world) readLog(server, container string) (log string) {
	for of, text := range w.node.Logs(w.namespace, server+"-") {
		if strings.HasSuffix(of, "/"+container) {
			log += text
		}
	}
	return log
}

// findProcesses waits until the container runs.
func (w *world) findProcesses(server, container string) (all []int) {
	w.t.Helper()
	w.waitUntil(container+" of "+server+" runs", func() (err error) {
		all, err = w.node.Processes(w.namespace, server+"-", container)
		return err
	})
	return all
}

// killContainer waits until the container runs again.
func (w *world) killContainer(server, container string) {
	w.t.Helper()
	former := w.findProcesses(server, container)[0]
	must.Succeed(w.t, syscall.Kill(former, syscall.SIGKILL))
	w.waitUntil(container+" of "+server+" runs again", func() error {
		if w.findProcesses(server, container)[0] == former {
			return errStillThere
		}
		return nil
	})
}

// emptyState stops a named, which is to be killed, and removes its files.
func (w *world) emptyState(server string) {
	w.t.Helper()
	must.Succeed(w.t, syscall.Kill(w.findProcesses(server, render.BINDContainer)[0], syscall.SIGSTOP))
	w.runInPod(server, "find", render.StateDir, "-mindepth", "1", "-delete")
}

// runInPod runs a program in the newest pod of a server, beside named.
func (w *world) runInPod(server string, arguments ...string) string {
	w.t.Helper()
	return must.Get(w.node.Execute(w.ctx, w.namespace, server+"-", render.BINDContainer, arguments...))(w.t)
}

func (w *world) runFleet(at clock.Clock, namespaces ...string) {
	w.t.Helper()
	w.runFleetWith(fleet.Config{
		Clock: at, Namespaces: namespaces,
		Primaries: primaryAt(netip.MustParseAddrPort("10.96.0.53:53")),
		Ask:       w.askLoaded,
		Members:   func(context.Context, *corev1.Pod, *render.Server) error { return nil },
	})
}

func (w *world) askLoaded(_ context.Context, _ *corev1.Pod, server *render.Server) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.loaded[server.Name], nil
}

func (w *world) load(instance string) {
	w.t.Helper()
	hash := w.getInstance(instance).Status.ConfigHash
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loaded[instance] = hash
}

func (w *world) runFleetWith(config fleet.Config) {
	w.t.Helper()
	informers := externalversions.NewSharedInformerFactory(w.kubizone, 0)
	counted := w.kube.Admin()
	counted.QPS = -1
	counted.Wrap(w.countWrites)
	core := must.Get(kubernetes.NewForConfig(counted))(w.t)
	if config.Platform.Installation == "" {
		config.Platform = makePlatform()
	}
	config.Client, config.Informers, config.Cluster, config.Events = w.kubizone, informers, core, w.reported
	if config.Answers == nil {
		config.Answers = func(context.Context, netip.AddrPort, name.Name, render.Key) bool { return false }
	}
	f := must.Get(fleet.New(config))(w.t)
	ctx, cancel := context.WithCancel(w.ctx)
	informers.StartWithContext(ctx)
	f.StartWithContext(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := f.Run(ctx); err != nil && ctx.Err() == nil {
			w.t.Error(err)
		}
	}()
	w.stop = sync.OnceFunc(func() { cancel(); <-ended; informers.Shutdown(); f.Shutdown() })
	w.t.Cleanup(w.stop)
}

// runKubelet makes each new pod of the namespace Ready, and removes deleted pods. No process runs.
func (w *world) runKubelet(namespace string) {
	w.node.Leave(namespace)
	go func() {
		for w.ctx.Err() == nil {
			watch, err := w.core.CoreV1().Pods(namespace).Watch(w.ctx, metav1.ListOptions{})
			if err != nil {
				continue
			}
			for event := range watch.ResultChan() {
				if pod, ok := event.Object.(*corev1.Pod); ok {
					w.runPod(pod)
				}
			}
		}
	}()
}

func (w *world) runPod(pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil {
		none := int64(0)
		_ = w.core.CoreV1().Pods(pod.Namespace).Delete(w.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &none})
		return
	}
	if pod.Status.Phase == corev1.PodRunning {
		return
	}
	ready := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	status, _ := json.Marshal(map[string]any{"status": map[string]any{"phase": "Running", "podIP": "192.0.2.1", "podIPs": []map[string]string{{"ip": "192.0.2.1"}}, "conditions": ready}})
	if _, err := w.core.CoreV1().Pods(pod.Namespace).Patch(w.ctx, pod.Name, types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil && !apierrors.IsNotFound(err) && w.ctx.Err() == nil {
		w.t.Log(err)
	}
}

func (w *world) waitUntil(what string, fact func() error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, waitTimeout)
	defer cancel()
	rig.Until(ctx, w.t, what, fact)
}

func (w *world) getInstance(name string) *bind9.Bind9Instance {
	w.t.Helper()
	instance := must.Get(w.kubizone.Bind9V1alpha1().Bind9Instances(w.namespace).Get(w.ctx, name, metav1.GetOptions{}))(w.t)
	return instance
}

func expectCondition(conditions []metav1.Condition, of, want string) error {
	status, reason, _ := strings.Cut(want, "/")
	for _, c := range conditions {
		if c.Type == of {
			if string(c.Status) == status && (reason == "" || c.Reason == reason) {
				return nil
			}
			return fmt.Errorf("%s is %s/%s: %s", of, c.Status, c.Reason, c.Message)
		}
	}
	return fmt.Errorf("there is no condition %s", of)
}

func (w *world) waitInstance(name, condition, want string) {
	w.t.Helper()
	w.waitInstanceOf(w.namespace, name, condition, want)
}

func (w *world) waitInstanceOf(namespace, name, condition, want string) {
	w.t.Helper()
	w.waitUntil(fmt.Sprintf("%s of %s is %s", condition, name, want), func() error {
		instance, err := w.kubizone.Bind9V1alpha1().Bind9Instances(namespace).Get(w.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return expectCondition(instance.Status.Conditions, condition, want)
	})
}

func (w *world) waitCluster(name, condition, want string) (cluster *bind9.Bind9Cluster) {
	w.t.Helper()
	w.waitUntil(fmt.Sprintf("%s of the cluster %s is %s", condition, name, want), func() (err error) {
		if cluster, err = w.kubizone.Bind9V1alpha1().Bind9Clusters(w.namespace).Get(w.ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		return expectCondition(cluster.Status.Conditions, condition, want)
	})
	return cluster
}

// waitProvider waits until Ready of the provider is as wanted.
func (w *world) waitProvider(name, want string) {
	w.t.Helper()
	w.waitUntil("Ready of the provider is "+want, func() error {
		provider, err := w.kubizone.Bind9V1alpha1().ClusterBind9Providers().Get(w.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return expectCondition(provider.Status.Conditions, bind9.ConditionReady, want)
	})
}

func (w *world) waitNoProvider(name string) {
	w.t.Helper()
	w.waitUntil("the provider is gone", func() error {
		if _, err := w.kubizone.Bind9V1alpha1().ClusterBind9Providers().Get(w.ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errStillThere
		}
		return nil
	})
}

// waitZones waits until each zone of the namespace is Ready.
func (w *world) waitZones() {
	w.t.Helper()
	w.waitUntil("every zone is Ready", func() error {
		list, err := w.kubizone.KubizoneV1alpha1().Zones(w.namespace).List(w.ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) == 0 {
			err = errors.New("there is no zone")
		}
		for i := range list.Items {
			err = errors.Join(err, expectCondition(list.Items[i].Status.Conditions, "Ready", "True"))
		}
		return err
	})
}

// waitNothing waits until no object of the fleet is left in the namespaces.
func (w *world) waitNothing(namespaces ...string) {
	w.t.Helper()
	for _, namespace := range namespaces {
		w.waitUntil("nothing is left in "+namespace, func() error {
			if left := w.listMade(namespace); len(left) > 0 {
				return fmt.Errorf("left: %q", left)
			}
			return nil
		})
	}
}

func primaryAt(at netip.AddrPort) func(context.Context) ([]netip.AddrPort, error) {
	return func(context.Context) ([]netip.AddrPort, error) { return []netip.AddrPort{at}, nil }
}

func (w *world) listMade(namespace string) []string {
	w.t.Helper()
	var out []string
	w.eachMade(namespace, func(at string, _ *unstructured.Unstructured) { out = append(out, at) })
	return out
}

func (w *world) eachMade(namespace string, do func(at string, o *unstructured.Unstructured)) {
	w.t.Helper()
	all := must.Get(dynamic.NewForConfig(w.kube.Admin()))(w.t)
	for _, resource := range []schema.GroupVersionResource{
		render.Deployments, render.StatefulSets, render.Services, render.NetworkPolicies, render.Disruptions, render.ConfigMaps, render.RoleBindings, render.Roles, render.Secrets, render.ServiceAccounts, corev1.SchemeGroupVersion.WithResource("pods"),
	} {
		list := must.Get(all.Resource(resource).Namespace(namespace).List(w.ctx, metav1.ListOptions{LabelSelector: render.LabelManager + "=" + render.Manager}))(w.t)
		for _, o := range list.Items {
			do(resource.Resource+"/"+o.GetName(), &o)
			if refs := o.GetOwnerReferences(); resource.Resource != "pods" && len(refs) > 0 {
				w.t.Errorf("%s %s has ownerReferences %v", resource.Resource, o.GetName(), refs)
			}
		}
	}
}

func (w *world) createInstance(name string, spec bind9.Bind9InstanceSpec) *bind9.Bind9Instance {
	w.t.Helper()
	instance := must.Get(w.kubizone.Bind9V1alpha1().Bind9Instances(w.namespace).Create(w.ctx, &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{}))(w.t)
	return instance
}

var errStillThere = errors.New("it is still there")
