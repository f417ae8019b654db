// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/client/cluster"
	"kubi.zone/kubizone/pkg/delivery/secrets"
)

const algorithm = "hmac-sha256"

type options struct {
	client                 *kubeconfig.Options
	patterns, types        []string
	view, transfer, reader string
	// secretsDir is for kubizone up; "" means the cluster.
	secretsDir           string
	format, server, zone string
	output               *output.Format
}

// makeClients returns clients for Kubizone and for the cluster, and the UpdateKey of the argument.
func (o *options) makeClients(argument string) (versioned.Interface, cluster.Interface, types.NamespacedName, error) {
	config, namespace, err := o.client.Client()
	if err != nil {
		return nil, nil, types.NamespacedName{}, err
	}
	at, err := o.client.Object(argument, namespace)
	if err != nil {
		return nil, nil, at, err
	}
	api, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, nil, at, err
	}
	core, err := cluster.NewForConfig(config)
	return api, core, at, err
}

type step struct {
	what         string
	make, remove func() error
}

// createKey writes the objects of a key, or none: after a refusal or Ctrl-C, the objects written before are deleted
// again. The output has the next command, without the secret.
func (o *options) createKey(ctx context.Context, argument string, out io.Writer) error {
	api, core, at, err := o.makeClients(argument)
	if err != nil {
		return err
	}

	// 1. A dry run, because most refusals concern the patterns.
	keys, key := api.KubizoneV1alpha1().UpdateKeys(at.Namespace), o.makeKey(at)
	if _, err := keys.Create(ctx, key, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		return fmt.Errorf("UpdateKey %s: %w", at, err)
	}
	objects, err := o.makeObjects(at)
	if err != nil {
		return err
	}

	// 2. The steps. The UpdateKey comes last, so that the primary never reads a key without its Secret. Ctrl-C takes
	// effect between two steps: after a request cut short, the Secret may be there or not, and may be of another user.
	uncut := context.WithoutCancel(ctx)
	stored, roles := core.CoreV1().Secrets(at.Namespace), core.RbacV1().Roles(at.Namespace)
	bindings := core.RbacV1().RoleBindings(at.Namespace)
	name, creation, deletion := objects.secret.Name, metav1.CreateOptions{}, metav1.DeleteOptions{}
	steps := []step{
		{"Secret", func() error { _, err := stored.Create(uncut, objects.secret, creation); return explainMissing(err) },
			func() error { return stored.Delete(uncut, name, deletion) }},
		{"Role", func() error { _, err := roles.Create(uncut, objects.role, creation); return err },
			func() error { return roles.Delete(uncut, name, deletion) }},
		{"RoleBinding", func() error { _, err := bindings.Create(uncut, objects.binding, creation); return err },
			func() error { return bindings.Delete(uncut, name, deletion) }},
	}
	with, further := "Secret, Role and RoleBinding "+name, ""
	// kubizone up has neither Secrets nor Roles, and reads files.
	if o.secretsDir != "" {
		files := secrets.Directory(o.secretsDir)
		steps = []step{{"Secret", func() error { return files.Create(at.Namespace, name, objects.secret.StringData) },
			func() error { return files.Delete(at.Namespace, name) }}}
		with, further = "files in "+filepath.Join(o.secretsDir, at.Namespace, name), " --secrets-dir "+o.secretsDir
	}
	steps = append(steps, step{"UpdateKey", func() error { _, err := keys.Create(uncut, key, creation); return err }, nil})

	// 3. Write, and take all back after a failure.
	for i := range steps {
		err := context.Cause(ctx)
		if err == nil {
			err = steps[i].make()
		}
		if err == nil {
			continue
		}
		err = fmt.Errorf("%s %s/%s: %w", steps[i].what, at.Namespace, name, err)
		for _, made := range steps[:i] {
			err = errors.Join(err, made.remove())
		}
		return err
	}
	text := output.NewText(out)
	text.Line("UpdateKey %s, with %s", at, with)
	text.Line("next:")
	text.Command(fmt.Sprintf("  kubectl kubizone updatekey show %s%s --format nsupdate --primary ADDRESS", at, further))
	_, err = text.WriteTo(out)
	return err
}

func (o *options) makeKey(at types.NamespacedName) *v1alpha1.UpdateKey {
	key := &v1alpha1.UpdateKey{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name}, Spec: v1alpha1.UpdateKeySpec{
		TSIGSecretRef: v1alpha1.UpdateKeySecret{Name: at.Name + "-tsig"}, View: o.view, Transfer: v1alpha1.UpdateTransfer(o.transfer)}}
	for _, pattern := range o.patterns {
		key.Spec.Records = append(key.Spec.Records, v1alpha1.UpdateKeyRecords{Pattern: pattern, Types: o.types})
	}
	return key
}

type objects struct {
	secret  *corev1.Secret
	role    *rbacv1.Role
	binding *rbacv1.RoleBinding
}

// makeObjects returns a Secret with a new TSIG key, and the Role and RoleBinding by which the primary may read this
// Secret alone.
func (o *options) makeObjects(at types.NamespacedName) (objects, error) {
	namespace, reader, ok := strings.Cut(o.reader, "/")
	if !ok {
		return objects{}, fmt.Errorf("--key-reader %q: write NAMESPACE/NAME of the ServiceAccount of the primary", o.reader)
	}
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return objects{}, err
	}
	meta := metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name + "-tsig"}
	return objects{
		&corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"name": at.Name + "." + at.Namespace + ".", "algorithm": algorithm,
			"secret": base64.StdEncoding.EncodeToString(secret)}},
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"},
			ResourceNames: []string{meta.Name}, Verbs: []string{"get", "watch"}}}},
		&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: reader}}},
	}, nil
}

func explainMissing(err error) error {
	if apierrors.IsNotFound(err) && apierrors.IsUnexpectedServerError(err) {
		return fmt.Errorf("%w; kubizone up reads Secrets from files: add --secrets-dir DIRECTORY, with make run .kubizone/secrets, "+
			"else the --secrets-dir of kubizone up, by default secrets in its --data-dir", err)
	}
	return err
}

func (o *options) readSecret(ctx context.Context, core cluster.Interface, namespace, name string) (map[string][]byte, error) {
	if o.secretsDir != "" {
		return secrets.Directory(o.secretsDir).Get(ctx, namespace, name)
	}
	secret, err := core.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, explainMissing(err)
	}
	return secret.Data, nil
}

//go:embed formats
var formats embed.FS

func listFormats() (names []string) {
	files, err := formats.ReadDir("formats")
	if err != nil {
		panic(err) // embedded
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(file.Name(), ".txt"))
	}
	return names
}

func Results() map[string]any { return map[string]any{"ShownUpdateKey": shown{}} }

type shown struct {
	Host      string `json:"host"`
	Port      string `json:"port"`
	Zone      string `json:"zone"`
	Key       string `json:"key"`
	Algorithm string `json:"algorithm"`
	// Secret is the key in base64, SecretName the Kubernetes Secret.
	Secret     string `json:"secret"`
	SecretName string `json:"secretName"`
	Transfers  bool   `json:"transfers"`
}

var plain = regexp.MustCompile(`^[A-Za-z0-9._+/=-]+$`)

// showKey prints the configuration of a client, or the values as a document. The output has the secret of the key.
func (o *options) showKey(ctx context.Context, argument string, out io.Writer) error {
	text, err := formats.ReadFile("formats/" + o.format + ".txt")
	if err != nil {
		return fmt.Errorf("--format %q: there are %s", o.format, strings.Join(listFormats(), ", "))
	}
	host, port, err := net.SplitHostPort(o.server)
	if err != nil {
		// Without a port, or an IPv6 address without brackets.
		host, port = o.server, "53"
	}
	api, core, at, err := o.makeClients(argument)
	if err != nil {
		return err
	}
	key, err := api.KubizoneV1alpha1().UpdateKeys(at.Namespace).Get(ctx, at.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("UpdateKey %s: %w", at, err)
	}
	name := key.Spec.TSIGSecretRef.Name
	secret, err := o.readSecret(ctx, core, at.Namespace, name)
	if err != nil {
		return fmt.Errorf("the Secret %s/%s: %w", at.Namespace, name, err)
	}
	values := shown{Host: host, Port: port, Zone: strings.TrimSuffix(o.zone, "."), Key: strings.TrimSpace(string(secret["name"])),
		Algorithm:  strings.TrimSuffix(strings.TrimSpace(string(secret["algorithm"])), "."),
		Secret:     strings.TrimSpace(string(secret["secret"])),
		SecretName: name, Transfers: key.Spec.Transfer == v1alpha1.UpdateTransferOwn}
	if values.Algorithm == "" {
		values.Algorithm = algorithm
	}

	// A line break in the Secret could begin another directive in the configuration.
	for data, text := range map[string]string{"name": values.Key, "algorithm": values.Algorithm, "secret": values.Secret} {
		if !plain.MatchString(text) {
			return fmt.Errorf("the Secret %s/%s: data[%q] has characters that a configuration may take for its own; write letters, digits "+
				"and . _ - there, and the secret in base64", at.Namespace, name, data)
		}
	}
	if o.output.IsDocument() {
		return o.output.Print(out, "ShownUpdateKey", values, nil)
	}
	return writeFormat(out, string(text), values)
}

// writeFormat replaces the placeholders of a format. Values are not searched for placeholders again.
func writeFormat(out io.Writer, text string, values shown) error {
	note := "# external-dns lists by AXFR: give the UpdateKey transfer: Own first\n"
	if values.Transfers {
		note = ""
	}
	upper := strings.ToUpper(values.Algorithm)
	_, err := strings.NewReplacer(
		"{{lists by AXFR}}", note,
		"{{.Host}}", values.Host, "{{.Port}}", values.Port, "{{.Zone}}", values.Zone,
		"{{.Key}}", values.Key, "{{bare .Key}}", strings.TrimSuffix(values.Key, "."),
		"{{.Algorithm}}", values.Algorithm, "{{upper .Algorithm}}", upper,
		"{{upper (undash .Algorithm)}}", strings.ReplaceAll(upper, "-", ""),
		"{{.Secret}}", values.Secret, "{{.SecretName}}", values.SecretName,
	).WriteString(out, text)
	return err
}

func NewCommand() *cobra.Command {
	o := &options{client: kubeconfig.NewOptions()}
	command := &cobra.Command{
		Use:   "updatekey",
		Short: "make a key for dynamic updates, and configure what sends them",
		Args:  cobra.NoArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	create := &cobra.Command{
		Use:   "create NAME",
		Short: "make an UpdateKey with its Secret, Role and RoleBinding",
		Example: `  kubectl kubizone updatekey create acme -n team-a --pattern '*.apps.example.org.' --type A --type AAAA
  kubectl kubizone updatekey create acme -n team-a --pattern '_acme-challenge.*.apps.example.org.' --type TXT
  kubectl kubizone updatekey create wildcard -n team-a --pattern _acme-challenge.apps.example.org. --type TXT`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			return o.createKey(command.Context(), arguments[0], command.OutOrStdout())
		},
	}
	create.Flags().StringArrayVar(&o.patterns, "pattern", nil, "names that the key may write, absolute; repeatable. The certificate of "+
		"*.apps needs _acme-challenge.apps, too")
	create.Flags().StringArrayVar(&o.types, "type", nil, "type that it may write there; repeatable; absent: all that need no naming")
	create.Flags().StringVar(&o.view, "view", "", "view of the zones")
	create.Flags().StringVar(&o.transfer, "transfer", string(v1alpha1.UpdateTransferNone), "what it may transfer: None, Own or Zone")
	create.Flags().StringVar(&o.reader, "key-reader", "kubizone-system/kubizone-primary", "ServiceAccount of the primary, which reads "+
		"the Secret")
	show := &cobra.Command{
		Use:   "show NAME",
		Short: "print the configuration of a client that signs with the key, the secret among it",
		Example: `  kubectl kubizone updatekey show acme -n team-a --format nsupdate --primary 192.0.2.53
  kubectl kubizone updatekey show acme -n team-a -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			return o.showKey(command.Context(), arguments[0], command.OutOrStdout())
		},
	}
	for _, command := range []*cobra.Command{create, show} {
		o.client.AddFlagsWithNamespace(command.Flags())
		command.Flags().StringVar(&o.secretsDir, "secrets-dir", "", "directory of the Secrets of kubizone up, files NAMESPACE/NAME/KEY "+
			"(default: the Secrets of the cluster)")
	}
	o.output = output.AddFormat(show)
	show.Flags().StringVar(&o.format, "format", "nsupdate", "client: "+strings.Join(listFormats(), ", "))
	utilruntime.Must(show.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(listFormats(), cobra.ShellCompDirectiveNoFileComp)))
	show.Flags().StringVar(&o.server, "primary", "192.0.2.1", "address of the hidden primary, with its port if that is not 53")
	show.Flags().StringVar(&o.zone, "zone", "example.org", "zone that the client updates")
	command.AddCommand(create, show)
	return command
}
