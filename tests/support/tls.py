"""Certificates that nobody has reason to trust, made anew for each run: a self-signed one, and those of an authority."""

import datetime
import ipaddress
import ssl
import subprocess
from pathlib import Path
from typing import Final

import attrs
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY: Final = datetime.timedelta(days=1)
_SIGNS_CERTIFICATES: Final = x509.KeyUsage(
    key_cert_sign=True,
    crl_sign=True,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


def make_contexts(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The side of a server on 127.0.0.1 with a certificate of its own making, and a client's side that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "socialapi tests")])
    certificate = _certificate(name, key.public_key(), name, key, ("127.0.0.1",))
    file = folder / "certificate.pem"
    file.write_bytes(_pem(certificate) + _key_pem(key))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cafile=str(file))


@attrs.frozen
class Authority:
    """A certificate authority: `file` is its own certificate, and what it issues is written beside it."""

    folder: Path
    key: ec.EllipticCurvePrivateKey = attrs.field(factory=lambda: ec.generate_private_key(ec.SECP256R1()), repr=False)
    common_name: str = "socialapi test authority"

    def __attrs_post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        certificate = _certificate(self.name, self.key.public_key(), self.name, self.key, (), is_authority=True)
        self.file.write_bytes(_pem(certificate))

    @property
    def name(self) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self.common_name)])

    @property
    def file(self) -> Path:
        return self.folder / "authority.pem"

    def directory(self) -> Path:
        """A folder with the authority's certificate, named as OpenSSL looks for it."""
        folder = self.folder / "directory"
        folder.mkdir(exist_ok=True)
        command = ("openssl", "x509", "-hash", "-noout", "-in", self.file)
        digest = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        (folder / f"{digest}.0").write_bytes(self.file.read_bytes())
        return folder

    def issue(self, *hosts: str, days: int = 1, password: bytes | None = None, is_strict: bool = True) -> Path:
        """A file with a certificate for the hosts and its key; with days below zero it has expired. One that is not
        strict does not name the key of its authority, as RFC 5280 has it.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        name = _named(hosts[0])
        certificate = _certificate(
            name, key.public_key(), self.name, self.key, hosts, ends_in=days * DAY, is_strict=is_strict
        )
        file = self.folder / f"{hosts[0]}-{days}-{password is not None}-{is_strict}.pem"
        file.write_bytes(_pem(certificate) + _key_pem(key, password))
        return file

    def issue_by_host(self, host: str) -> Path:
        """A file with a certificate for the host, that of its issuer, which is a host as well and no authority, and the
        key of the first.
        """
        issuer, issuer_key = _named("issuer.example"), ec.generate_private_key(ec.SECP256R1())
        between = _certificate(issuer, issuer_key.public_key(), self.name, self.key, ("issuer.example",))
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(_named(host), key.public_key(), issuer, issuer_key, (host,))
        file = self.folder / f"{host}-by-a-host.pem"
        file.write_bytes(_pem(certificate) + _pem(between) + _key_pem(key, None))
        return file

    def server(self, *hosts: str, days: int = 1, wants_client: bool = False) -> ssl.SSLContext:
        """A server's side for the hosts; one that wants it asks for a certificate of this authority in turn."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.issue(*hosts, days=days))
        if wants_client:
            context.load_verify_locations(self.file)
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def _named(host: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])


def _certificate(
    subject: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    hosts: tuple[str, ...],
    *,
    is_authority: bool = False,
    ends_in: datetime.timedelta = DAY,
    is_strict: bool = True,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 3 * DAY)
        .not_valid_after(now + ends_in)
    )
    # Python 3.13 and later want these (ssl.VERIFY_X509_STRICT).
    made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    if is_authority:
        made = made.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        made = made.add_extension(_SIGNS_CERTIFICATES, critical=True)
    elif issuer != subject and is_strict:
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
        made = made.add_extension(identifier, critical=False)
    if hosts:
        made = made.add_extension(x509.SubjectAlternativeName([_alternative(host) for host in hosts]), critical=False)
    return made.sign(issuer_key, hashes.SHA256())


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey, password: bytes | None = None) -> bytes:
    locked = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)
