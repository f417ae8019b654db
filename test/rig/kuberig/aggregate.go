// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kuberig

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	InstallNamespace = "kubizone-system"
	ServerName       = "kubizone-apiserver"
	APIServiceName   = "v1alpha1.kubi.zone"
)

var groups = []string{"kubi.zone", "bind9.kubi.zone"}

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

func (k *Kube) Namespace(ctx context.Context, name string) error {
	clients, err := k.Clients()
	if err != nil {
		return err
	}
	_, err = clients.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return allowExisting(err)
}

func allowExisting(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// ServiceAccount returns a kubeconfig with a token for a day. It creates the account and namespace if missing.
func (k *Kube) ServiceAccount(ctx context.Context, namespace, name string) (kubeconfig string, err error) {
	clients, err := k.Clients()
	if err != nil {
		return "", err
	}
	if err := k.Namespace(ctx, namespace); err != nil {
		return "", err
	}
	accounts := clients.CoreV1().ServiceAccounts(namespace)
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{}); allowExisting(err) != nil {
		return "", err
	}
	seconds := int64((24 * time.Hour).Seconds())
	token, err := accounts.CreateToken(ctx, name, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	user := "system:serviceaccount:" + namespace + ":" + name
	if err := k.writeKubeconfigIn(namespace, user, &clientcmdapi.AuthInfo{Token: token.Status.Token}); err != nil {
		return "", err
	}
	return k.kubeconfigPath(user), nil
}

// Grant gives a user ("system:serviceaccount:NAMESPACE:NAME") a Role, or a ClusterRole if namespace is "".
func (k *Kube) Grant(ctx context.Context, namespace, user string, rules ...rbacv1.PolicyRule) error {
	clients, err := k.Clients()
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Name: user, Namespace: namespace}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	if namespace == "" {
		if _, err := clients.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err != nil {
			return err
		}
		_, err := clients.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		}, metav1.CreateOptions{})
		return err
	}
	if _, err := clients.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err = clients.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
	}, metav1.CreateOptions{})
	return err
}

func (k *Kube) Bind(ctx context.Context, namespace, user, clusterRole string) error {
	clients, err := k.Clients()
	if err != nil {
		return err
	}
	_, err = clients.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user + "-" + clusterRole, Namespace: namespace},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: clusterRole},
	}, metav1.CreateOptions{})
	return err
}

// delegated are the rights beside extension-apiserver-authentication-reader and system:auth-delegator.
var delegated = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"namespaces", "resourcequotas"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{""}, Resources: []string{"resourcequotas/status"}, Verbs: []string{"update"}},
	{APIGroups: []string{"admissionregistration.k8s.io"}, Verbs: []string{"get", "list", "watch"}, Resources: []string{
		"mutatingwebhookconfigurations", "validatingwebhookconfigurations",
		"validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
	}},
	{APIGroups: []string{"flowcontrol.apiserver.k8s.io"}, Resources: []string{"flowschemas", "prioritylevelconfigurations"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	{APIGroups: []string{"flowcontrol.apiserver.k8s.io"}, Resources: []string{"flowschemas/status"}, Verbs: []string{"patch"}},
}

// Delegate creates an aggregated server's service account, whose kubeconfig is for all three flags of a server.
func (k *Kube) Delegate(ctx context.Context) (kubeconfig string, err error) {
	clients, err := k.Clients()
	if err != nil {
		return "", err
	}
	if kubeconfig, err = k.ServiceAccount(ctx, InstallNamespace, ServerName); err != nil {
		return "", err
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: InstallNamespace, Name: ServerName}}
	if _, err := clients.RbacV1().RoleBindings("kube-system").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ServerName + "-auth-reader"}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "extension-apiserver-authentication-reader"},
	}, metav1.CreateOptions{}); allowExisting(err) != nil {
		return "", err
	}
	if _, err := clients.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: ServerName},
		Rules: delegated}, metav1.CreateOptions{}); allowExisting(err) != nil {
		return "", err
	}
	for binding, role := range map[string]string{ServerName: ServerName, ServerName + "-auth-delegator": "system:auth-delegator"} {
		if _, err := clients.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: binding}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		}, metav1.CreateOptions{}); allowExisting(err) != nil {
			return "", err
		}
	}
	return kubeconfig, nil
}

// Aggregate registers a server by an ExternalName Service and APIServices with the CA (PEM).
func (k *Kube) Aggregate(ctx context.Context, at netip.AddrPort, ca []byte) error {
	if err := k.Namespace(ctx, InstallNamespace); err != nil {
		return err
	}
	clients, err := k.Clients()
	if err != nil {
		return err
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: ServerName},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeExternalName, ExternalName: "localhost", Ports: []corev1.ServicePort{{Port: int32(at.Port())}},
		},
	}
	if err := k.replaceService(ctx, clients, service); err != nil {
		return err
	}
	services, err := dynamic.NewForConfig(k.Admin())
	if err != nil {
		return err
	}
	if err := k.Unaggregate(ctx); err != nil {
		return err
	}
	for _, group := range groups {
		if _, err := services.Resource(apiServices).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
			"metadata": map[string]any{"name": "v1alpha1." + group},
			"spec": map[string]any{
				"group": group, "version": "v1alpha1", "groupPriorityMinimum": int64(1000), "versionPriority": int64(15),
				"service":  map[string]any{"namespace": InstallNamespace, "name": ServerName, "port": int64(at.Port())},
				"caBundle": base64.StdEncoding.EncodeToString(ca),
			},
		}}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (k *Kube) replaceService(ctx context.Context, clients *kubernetes.Clientset, service *corev1.Service) error {
	services := clients.CoreV1().Services(InstallNamespace)
	if err := services.Delete(ctx, service.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	_, err := services.Create(ctx, service, metav1.CreateOptions{})
	return err
}

func (k *Kube) Unaggregate(ctx context.Context) error {
	services, err := dynamic.NewForConfig(k.Admin())
	if err != nil {
		return err
	}
	for _, group := range groups {
		if err := services.Resource(apiServices).Delete(ctx, "v1alpha1."+group, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// WaitAvailable waits until the APIService is available (want) or not, and returns reason and message. kube-apiserver
// proxies requests some milliseconds after it writes the condition, and to each group on its own. After failures it
// probes a server again only in up to half a minute, but at once if the APIService changes.
func (k *Kube) WaitAvailable(ctx context.Context, want bool) (reason, message string, err error) {
	services, err := dynamic.NewForConfig(k.Admin())
	if err != nil {
		return "", "", err
	}
	wanted := map[bool]string{true: "True", false: "False"}[want]
	for began, changes := time.Now(), 1; ; {
		if time.Since(began) > time.Duration(changes)*time.Second {
			changes++
			k.ProbeAgain(ctx)
		}
		var service *unstructured.Unstructured
		if service, err = services.Resource(apiServices).Get(ctx, APIServiceName, metav1.GetOptions{}); err == nil {
			conditions, _, _ := unstructured.NestedSlice(service.Object, "status", "conditions")
			for _, c := range conditions {
				condition, _ := c.(map[string]any)
				if condition["type"] != "Available" {
					continue
				}
				reason, _ = condition["reason"].(string)
				message, _ = condition["message"].(string)
				if condition["status"] == wanted && (!want || k.proxiesAll(ctx)) {
					return reason, message, nil
				}
			}
		}
		select {
		case <-ctx.Done():
			return reason, message, fmt.Errorf("APIService %s is not Available=%s: %s: %s: %w", APIServiceName, wanted, reason, message, errors.Join(err, ctx.Err()))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ProbeAgain changes an annotation of the APIServices. An APIService may be missing.
func (k *Kube) ProbeAgain(ctx context.Context) {
	services, err := dynamic.NewForConfig(k.Admin())
	if err != nil {
		return
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"rig.kubi.zone/probe":"%d"}}}`, time.Now().UnixNano())
	for _, group := range groups {
		_, _ = services.Resource(apiServices).Patch(ctx, "v1alpha1."+group, types.MergePatchType, patch, metav1.PatchOptions{})
	}
}

func (k *Kube) proxiesAll(ctx context.Context) bool {
	clients, err := k.Clients()
	if err != nil {
		return false
	}
	for _, group := range groups {
		if _, err := clients.Discovery().ServerResourcesForGroupVersion(group + "/v1alpha1"); err != nil {
			return false
		}
	}
	return true
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// WaitDefinitions waits until clients discover all CustomResourceDefinitions, later than Established.
func (k *Kube) WaitDefinitions(ctx context.Context) error {
	client, err := dynamic.NewForConfig(k.Admin())
	if err != nil {
		return err
	}
	found, err := discovery.NewDiscoveryClientForConfig(k.Admin())
	if err != nil {
		return err
	}
	for {
		err := checkDefinitions(ctx, client, found)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func checkDefinitions(ctx context.Context, client dynamic.Interface, found discovery.DiscoveryInterface) error {
	all, err := client.Resource(definitions).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	_, lists, err := found.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return err
	}
	discovered := map[string]bool{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			discovered[list.GroupVersion+"/"+resource.Name] = true
		}
	}
	for _, definition := range all.Items {
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
		versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
		for _, one := range versions {
			version, _ := one.(map[string]any)
			if version["served"] != true {
				continue
			}
			of := schema.GroupVersionResource{Group: group, Version: fmt.Sprint(version["name"]), Resource: plural}
			if !discovered[of.GroupVersion().String()+"/"+plural] {
				return fmt.Errorf("%s is not discovered", of)
			}
			if _, err := client.Resource(of).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
				return fmt.Errorf("%s is not served: %w", of, err)
			}
		}
	}
	return nil
}

// ServingHosts has the Service's name for kube-apiserver, the others for direct clients.
func ServingHosts() []string {
	return []string{ServerName + "." + InstallNamespace + ".svc", "localhost", "127.0.0.1"}
}
