// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kuberig

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kubi.zone/kubizone/test/rig"
)

// FrontProxyName is the certificate's common name.
const FrontProxyName = "front-proxy-client"

// controllers concern aggregated resources and need no node.
const controllers = "namespace-controller,garbage-collector-controller,serviceaccount-controller,serviceaccount-token-controller," +
	"resourcequota-controller,clusterrole-aggregation-controller,root-ca-certificate-publisher-controller"

var sparing = []string{"GOGC=400"}

type KubeConfig struct {
	// Etcd is a member's endpoint; "" starts a member in this process.
	Etcd string
	// ControllerManager starts kube-controller-manager at once: it sees a later aggregated API within half a minute.
	ControllerManager bool
	Controllers       []string
	Args, ManagerArgs []string
}

// Kube is a control plane: etcd, kube-apiserver with RBAC and aggregation, and on request kube-controller-manager.
type Kube struct {
	Addr netip.AddrPort // of kube-apiserver

	ClusterCA    *rig.Authority // signs all other certificates
	FrontProxyCA *rig.Authority // signs kube-apiserver's client certificate for aggregated servers

	dir       string
	etcd      *Etcd // nil with KubeConfig.Etcd
	endpoint  string
	apiserver *rig.Process
	manager   *rig.Process
	further   []string
	flags     []string
	admin     *rest.Config
}

func StartKube(ctx context.Context, dir string, c KubeConfig) (_ *Kube, err error) {
	if _, err := rig.KubeProgram("kube-apiserver"); err != nil {
		return nil, err
	}
	if c.ControllerManager {
		if _, err := rig.KubeProgram("kube-controller-manager"); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	k := &Kube{dir: dir, further: c.Controllers, flags: c.ManagerArgs}
	defer func() {
		if err != nil {
			k.Close()
		}
	}()
	if k.ClusterCA, err = rig.NewAuthority("rig cluster"); err != nil {
		return nil, err
	}
	if k.FrontProxyCA, err = rig.NewAuthority("rig front proxy"); err != nil {
		return nil, err
	}
	if k.endpoint = c.Etcd; k.endpoint == "" {
		if k.etcd, err = StartEtcd(ctx, filepath.Join(dir, "etcd")); err != nil {
			return nil, err
		}
		k.endpoint = k.etcd.Endpoint
	}
	if err = k.startAPIServer(ctx, c.Args); err != nil {
		return nil, err
	}
	if c.ControllerManager {
		err = k.StartControllerManager(ctx)
	}
	return k, err
}

func (k *Kube) startAPIServer(ctx context.Context, further []string) error {
	program, err := rig.KubeProgram("kube-apiserver")
	if err != nil {
		return err
	}
	if k.Addr, err = rig.FreePort(); err != nil {
		return err
	}
	file := func(name string) string { return filepath.Join(k.dir, name) }
	if err := k.writeCertificates(); err != nil {
		return err
	}
	k.admin, err = k.makeClient("admin", "system:masters")
	if err != nil {
		return err
	}
	k.apiserver, err = rig.StartProcess(sparing, k.dir, program, append([]string{
		"--etcd-servers", k.endpoint,
		"--bind-address", k.Addr.Addr().String(), "--advertise-address", k.Addr.Addr().String(), "--secure-port", portOf(k.Addr),
		"--endpoint-reconciler-type", "none", "--service-cluster-ip-range", "10.96.0.0/16",
		"--tls-cert-file", file("apiserver.crt"), "--tls-private-key-file", file("apiserver.key"),
		"--client-ca-file", file("ca.crt"), "--anonymous-auth=true", "--authorization-mode", "Node,RBAC",
		"--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-key-file", file("accounts.crt"), "--service-account-signing-key-file", file("accounts.key"),
		"--requestheader-client-ca-file", file("front-proxy-ca.crt"), "--requestheader-allowed-names", FrontProxyName,
		"--requestheader-username-headers", "X-Remote-User", "--requestheader-group-headers", "X-Remote-Group",
		"--requestheader-extra-headers-prefix", "X-Remote-Extra-",
		"--proxy-client-cert-file", file("front-proxy.crt"), "--proxy-client-key-file", file("front-proxy.key"),
		"--enable-aggregator-routing=false",
	}, further...)...)
	if err != nil {
		return err
	}
	if err := waitReady(ctx, k.apiserver, k.admin, "/readyz", 2*time.Minute); err != nil {
		k.apiserver.End()
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	return nil
}

func (k *Kube) writeCertificates() error {
	for name, authority := range map[string]*rig.Authority{"ca": k.ClusterCA, "front-proxy-ca": k.FrontProxyCA} {
		if err := rig.ReplaceFile(filepath.Join(k.dir, name+".crt"), authority.PEM); err != nil {
			return err
		}
	}
	serving, err := k.ClusterCA.Serving("kube-apiserver", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "127.0.0.1", "10.96.0.1")
	if err != nil {
		return err
	}
	frontProxy, err := k.FrontProxyCA.Client(FrontProxyName)
	if err != nil {
		return err
	}
	// kube-apiserver reads the tokens' public key from a certificate.
	accounts, err := k.ClusterCA.Client("service accounts")
	if err != nil {
		return err
	}
	for name, pair := range map[string]rig.Pair{"apiserver": serving, "front-proxy": frontProxy, "accounts": accounts} {
		if _, _, err := pair.Write(filepath.Join(k.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func (k *Kube) StartControllerManager(ctx context.Context) error {
	program, err := rig.KubeProgram("kube-controller-manager")
	if err != nil {
		return err
	}
	kubeconfig, err := k.Tenant("system:kube-controller-manager")
	if err != nil {
		return err
	}
	at, err := rig.FreePort()
	if err != nil {
		return err
	}
	file := func(name string) string { return filepath.Join(k.dir, name) }
	k.manager, err = rig.StartProcess(sparing, k.dir, program, append([]string{
		"--kubeconfig", kubeconfig, "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig,
		"--bind-address", at.Addr().String(), "--secure-port", portOf(at), "--leader-elect=false",
		"--cluster-name", "rig", "--root-ca-file", file("ca.crt"),
		"--service-account-private-key-file", file("accounts.key"), "--use-service-account-credentials=true",
		"--controllers", strings.Join(append([]string{controllers}, k.further...), ","), "--concurrent-gc-syncs", "5", "--concurrent-namespace-syncs", "5",
		// A quota that is counted while the controller discovers our kinds is right only after a full count, by default
		// in five minutes.
		"--resource-quota-sync-period", "20s",
	}, k.flags...)...)
	if err != nil {
		return err
	}
	health := &rest.Config{Host: "https://" + at.String(), TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	if err := waitReady(ctx, k.manager, health, "/healthz", time.Minute); err != nil {
		return fmt.Errorf("kube-controller-manager: %w", err)
	}
	return nil
}

func waitReady(ctx context.Context, p *rig.Process, config *rest.Config, path string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	transport, err := rest.TransportFor(config)
	if err != nil {
		return err
	}
	client := http.Client{Transport: transport, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path, nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("%s answers %s", path, answer.Status)
		}
		select {
		case <-p.Ended():
			return fmt.Errorf("it ended: %v\n%s", p.Err(), p.Log())
		case <-ctx.Done():
			return fmt.Errorf("not ready in time: %w; it says:\n%s", err, p.Log())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func portOf(at netip.AddrPort) string { return strconv.Itoa(int(at.Port())) }

func (k *Kube) URL() string { return "https://" + k.Addr.String() }

// Admin returns the configuration of system:masters, without rate limits.
func (k *Kube) Admin() *rest.Config { return rest.CopyConfig(k.admin) }

func (k *Kube) AdminKubeconfig() string { return filepath.Join(k.dir, "admin.kubeconfig") }

func (k *Kube) Clients() (*kubernetes.Clientset, error) { return kubernetes.NewForConfig(k.Admin()) }

// Tenant returns a kubeconfig with only RBAC's rights.
func (k *Kube) Tenant(name string, groups ...string) (kubeconfig string, err error) {
	if _, err := k.makeClient(name, groups...); err != nil {
		return "", err
	}
	return k.kubeconfigPath(name), nil
}

func (k *Kube) kubeconfigPath(name string) string {
	return filepath.Join(k.dir, strings.ReplaceAll(strings.ReplaceAll(name, "/", "-"), ":", "-")+".kubeconfig")
}

func (k *Kube) makeClient(name string, groups ...string) (*rest.Config, error) {
	pair, err := k.ClusterCA.Client(name, groups...)
	if err != nil {
		return nil, err
	}
	return k.writeKubeconfig(name, &clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key})
}

func (k *Kube) writeKubeconfig(name string, who *clientcmdapi.AuthInfo) (*rest.Config, error) {
	if err := k.writeKubeconfigIn("", name, who); err != nil {
		return nil, err
	}
	return ClientConfig(k.kubeconfigPath(name))
}

func (k *Kube) writeKubeconfigIn(namespace, name string, who *clientcmdapi.AuthInfo) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["rig"] = &clientcmdapi.Cluster{Server: k.URL(), CertificateAuthorityData: k.ClusterCA.PEM}
	config.AuthInfos[name] = who
	config.Contexts["rig"] = &clientcmdapi.Context{Cluster: "rig", AuthInfo: name, Namespace: namespace}
	config.CurrentContext = "rig"
	return clientcmd.WriteToFile(*config, k.kubeconfigPath(name))
}

// ClientConfig reads a kubeconfig, without client-go's rate limit.
func ClientConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

// FrontProxy returns kube-apiserver's certificate for aggregated servers.
func (k *Kube) FrontProxy() (tls.Certificate, error) {
	return tls.LoadX509KeyPair(filepath.Join(k.dir, "front-proxy.crt"), filepath.Join(k.dir, "front-proxy.key"))
}

// Pause keeps connections open.
func (k *Kube) Pause() error { return k.apiserver.Pause() }

func (k *Kube) Resume() error { return k.apiserver.Signal(syscall.SIGCONT) }

func (k *Kube) Log() string { return k.apiserver.Log() }

func (k *Kube) ControllerManagerLog() string { return k.manager.Log() }

func (k *Kube) Pid() int { return k.apiserver.Pid() }

func (k *Kube) Etcd() string { return k.endpoint }

func (k *Kube) Close() error {
	if k.manager != nil {
		k.manager.End()
	}
	if k.apiserver != nil {
		// A paused process ignores SIGTERM.
		k.apiserver.Signal(syscall.SIGCONT)
		k.apiserver.End()
	}
	if k.etcd != nil {
		k.etcd.Close()
	}
	return errors.Join(os.RemoveAll(k.dir))
}
