"""Which columns hold identifiers."""

from collections.abc import Iterable, Sequence

import pytest

from socialapi.bulk.audiences.column_names import detected_as
from socialapi.bulk.audiences.columns import IdentifierColumns, IdentifierLayout
from socialapi.bulk.inputs.columns import OVERRIDES, ColumnMapping
from socialapi.errors import InvalidInput
from socialapi.models.audiences import DO_NOT_REACH_KINDS, IDENTIFIER_KINDS, IdentifierKind


def find_columns(
    names: Sequence[str], mapping: ColumnMapping | None = None, kinds: Iterable[IdentifierKind] = IDENTIFIER_KINDS
) -> IdentifierLayout:
    """As readers do it for a table."""
    return IdentifierColumns.of(mapping, kinds).of_table(names)


def identifiers(layout: IdentifierLayout) -> list[tuple[int, str, IdentifierKind]]:
    """The columns of identifiers, each with its position in the table."""
    return [(layout.positions[index], name, kind) for index, name, kind in layout.identifiers]


@pytest.mark.parametrize("name", [*IDENTIFIER_KINDS, *OVERRIDES])
def test_the_names_of_the_specification_stand_for_themselves(name: str) -> None:
    assert detected_as(name) == name
    assert detected_as(f" {name.upper().replace('_', '-')} ") == name


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, "email") for name in ("E-Mail", "mail", "Email Address", "e.mail", "emails", "Email Addresses")),
        *(
            (name, "email")
            for name in (
                "email2",
                "email_1",
                "Email 2",
                "E-mail 1 - Value",
                "work email",
                "\ufeffemail",
                "\u00ef\u00bb\u00bfemail",
            )
        ),
        *((name, "email") for name in ("hashed_email", "email_sha256", "sha256 email", "email2_sha256", "Email Hash")),
        *(
            (name, "phone_number")
            for name in ("Phone", "phones", "Phone 2", "mobile", "Tel.", "Cell Phone", "MSISDN", "SMS")
        ),
        *((name, "phone_number") for name in ("Customer Mobile", "phone_e164", "e164", "hashed_phone_number")),
        *(
            (name, "device_id")
            for name in ("IDFA", "gaid", "AdID", "Advertising ID", "maid", "mobile_ad_id", "mobile_id")
        ),
        *((name, "handle") for name in ("Screen Name", "Twitter handle", "Twitter Username", "handles", "user_handle")),
        *((name, "service_id") for name in ("User ID on platform", "service user id", "twitter_id")),
        *((name, "email") for name in ("Purchaser Email", "Attendee Email", "Ihre E-Mail-Adresse", "hem")),
        *((name, "email") for name in ("Votre email", "Käufer-E-Mail", "Email acheteur", "email:string")),
        *((name, "region") for name in ("ship-country", "Country (text only)")),
        *((name, "device_id") for name in ("Android Ad ID", "Apple Advertising Identifier (IDFA)")),
        *(("X ID", "service_id"), ("X account", "handle"), ("Twitter Link", "handle")),
        ("Mobile number (with country code)", "phone_number"),
        *((name, "partner_user_id") for name in ("External Partner ID", "partner-id", "Partner User ID")),
    ],
)
def test_synonyms_in_the_notations_of_exports(name: str, kind: str) -> None:
    assert detected_as(name) == kind


@pytest.mark.parametrize(
    "name",
    [
        *("customer_id", "Customer", "id", "user_id", "User ID", "customer ids", "name", "address", "email_opt_in", ""),
        *("phone_type", "E-mail 1 - Type", "device", "hash", "sha256", "email_md5", "account", "2", "s"),
        *(
            "Username",
            "User Name",
            "user_login",
            "ad_id",
            "Ad ID",
            "region",
            "state",
            "province",
            "hotel",
            "opt_in_sms",
        ),
        *("email verified", "Phone Extension", "Company Main Phone", "Assistant's Phone", "Email Domain", "Fax"),
    ],
)
def test_what_is_no_identifier_is_not_taken_for_one(name: str) -> None:
    assert detected_as(name) == ""


# Their columns of identifiers, as the templates and exports that the names are from have them.
TEMPLATES = {
    "Google Ads": {
        "Email": "email",
        "Phone": "phone_number",
        "Mobile Device ID": "device_id",
        "Country": "region",
        "Zip": "",
    },
    "Meta": {"email": "email", "phone": "phone_number", "madid": "device_id", "fn": "", "country": "region", "uid": ""},
    "LinkedIn": {
        "email": "email",
        "firstname": "",
        "googleaid": "device_id",
        "appleidfa": "device_id",
        "country": "region",
    },
    "Microsoft": {"Email": "email", "Hashed Email": "email", "Sub Type": ""},
    "HubSpot": {"Record ID": "", "Email": "email", "Mobile Phone Number": "phone_number", "Twitter Username": "handle"},
    "Salesforce": {
        "PersonEmail": "email",
        "PersonMobilePhone": "phone_number",
        "HomePhone": "phone_number",
        "Email2__c": "email",
    },
    "WooCommerce": {"Username": "", "Email": "email", "Billing Phone": "phone_number", "Country / Region": "region"},
    "Outlook": {
        "E-mail Address": "email",
        "E-mail 2 Address": "email",
        "E-mail 2 Type": "",
        "Business Phone 2": "phone_number",
        "Car Phone": "phone_number",
        "Home Fax": "",
    },
    "Pipedrive": {"Person - Email - Work": "email", "Person - Phone - Mobile": "phone_number", "Person - Name": ""},
    "Speedport": {
        "Rufnummer Privat": "phone_number",
        "Rufnummer Arbeit": "phone_number",
        "Rufnummer Mobil 2": "phone_number",
    },
    "Brevo": {"EMAIL": "email", "WHATSAPP": "phone_number", "LANDLINE_NUMBER": "phone_number", "EXT_ID": ""},
    "Constant Contact": {"Email address - other": "email", "Phone - mobile": "phone_number", "Email status": ""},
    "French": {
        "Adresse e-mail": "email",
        "Téléphone": "phone_number",
        "N° de téléphone portable": "phone_number",
        "Tél. mobile": "phone_number",
    },
    "Spanish": {"Correo": "email", "Correo electrónico": "email", "Móvil": "phone_number", "Teléfono": "phone_number"},
    "Italian": {
        "Indirizzo e-mail": "email",
        "Cellulare": "phone_number",
        "Numero di telefono": "phone_number",
        "Nome": "",
    },
    "Portuguese": {
        "Correio eletrónico": "email",
        "Telemóvel": "phone_number",
        "Celular": "phone_number",
        "Telefone": "phone_number",
    },
    "Dutch": {
        "E-mailadres": "email",
        "Mobiel": "phone_number",
        "Telefoonnummer": "phone_number",
        "GSM": "phone_number",
    },
    "Polish": {
        "Adres e-mail": "email",
        "Telefon komórkowy": "phone_number",
        "Numer telefonu": "phone_number",
        "Imię": "",
    },
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_columns_of_templates_and_of_other_languages_are_known(template: str) -> None:
    wanted = TEMPLATES[template]
    assert {name: detected_as(name) for name in wanted} == wanted


NAMES_BY_KIND = {
    "email": (
        "Adresse de courriel, Adresse de messagerie, 携帯メール, em, Adresse mail personnelle, E-mail du client, Correo-e, "
        "Dirección de e-mail, Email de contacto, Indirizzo di posta, E-mail aziendale, Endereço de correio eletrónico, "
        "E-mail do cliente, E-mailadres zakelijk, Adres poczty elektronicznej, E-mail służbowy, ご連絡先メールアドレス, "
        "PC用メール, Account Email, email_lower, Mail ID, Firmen-E-Mail, E-Mail-Kontakt, emails[0], $email, E-mail klienta, "
        "Email (required), Email Address (lowercase), E-Mail (Pflichtfeld), E-Mail/Mail, Courriel / E-mail, c.email, "
        "t1.email, Customers Email, contacts.email, EMAIL:VARCHAR, Participant Email, Registrant e-mail, Teilnehmer-E-Mail, "
        "Email du participant, Correo del comprador, E-mail deelnemer, E-mail uczestnika, Email acquirente, What is your email?, "
        "What's your e-mail address?, Wie lautet Ihre E-Mail-Adresse?, Quelle est votre adresse e-mail ?, Qual è la tua email?, "
        "¿Cuál es tu correo electrónico?, Qual é o seu e-mail?, Wat is je e-mailadres?"
    ),
    "phone_number": (
        "Nº de teléfono, Tfno, Tlf, Nr komórki, Mobiele telefoonnummer, Tel. cellulare, Número do celular, N° mobile, Fixe, "
        "自宅電話番号, Mob No, Ph, ph, Ph. No., Cell #, Patient mobile, SMS Phone, Fon, "
        "Diensthandy, Privattelefon, Tél. domicile, No de portable, No. de teléfono, Número de teléfono móvil de contacto, "
        "N. di telefono, Telefono ufficio, N.º de telemóvel, Fone residencial, Vast nummer, Telefoonnr. thuis, "
        "Nr telefonu komórkowego, Telefon kontaktowy, 電話番号(携帯), 連絡先番号, \uff34\uff25\uff2c, "
        "Celular/WhatsApp, Phone (Mobile), Tel/Handy, Telefon (GSM), Tel. Festnetz, Rückrufnummer, Callback number, Please enter your phone number"
    ),
    "region": (
        "Default Address Country Code, Country/Region, Billing Country, Shipping Country, MailingCountryCode, CC, "
        "MailingCountry, Address 1 - Country, Land, Pays, País, Paese, Kraj, 国, Landcode, Ländercode, Länderkürzel, "
        "POCountry, phoneNumberDetails.countryCodeISO, Organization - Address Country, Ship To Country, BillToCountry, "
        "Destination Country, Land/Staat, Country/Territory, Pays/Territoire, Wohnsitzland, Woonland, Landescode, "
        "Länderkz., Land Rechnungsadresse, Nación, 居住国, International Prefix, Intl Prefix, Internationale Vorwahl, "
        "Vorwahl Land, ISD Code, phone_cc, Prefijo país, Prefisso internazionale, Landnummer, Tel. Ländercode, "
        "Numer kierunkowy kraju, Country Dial, "
        "Código de país, Code pays, Country Code (Billing), Home Country/Region, Country ISO alpha-2, Phone Country Code, "
        "Country of residence, Land/Region geschäftlich, Rechnungsland, Pays de facturation, Código del país, "
        "Código do país, Codice paese, Land/regio, Kod kraju, Państwo, 国コード, 国/地域, Indicatif, Dial Code"
    ),
    "area_code": (
        "Vorwahl, Ortsvorwahl, Telefonvorwahl, Vorwahl (mobil), DDD, DDI, Prefisso, Prefijo, Préfixe, Indicativo, Netnummer, "
        "Area Code, Phone Area Code, STD Code, 市外局番, Prefix, Phone Prefix, phone_prefix, Mobile Prefix, Phone code"
    ),
    "device_id": "IDFA/GAID, gaid_sha256, Apple IDFA, Google Advertising ID (GAID), IDFA (MAID)",
    "handle": "X (Twitter), X/Twitter, Twitter/X, Twitter (X), Compte Twitter, Usuario de Twitter, Cuenta de Twitter",
    "": (
        "State/Province, Billing State, Bundesland, Island, Landing Page, Country of birth, Card Issue Country, IP Country, "
        "Nationality, Phone Number Region, Email Type, Emails Sent, Number of emails, Number of phones, Phone Model, "
        "Mobile App, SMS Consent, No Phone, Do Not Email, Emergency Contact Phone, Parent Email, Contact owner email, "
        "Manager Email, Referrer Email, Spouse's phone, What is your parent's email?, manager.email, E-mail ouder, Organizer Email, "
        "Bounced Email, Customer number, Contact ID, Contact, Kundennummer, Numéro, N°, Nr, Number, Adresse, Dirección, "
        "Mailing Address, Member ID, Code, Postal Code, Order No, System, Item ID, em_id, CC number, cc2, Mobile country code, "
        "Messagerie, Poczta, Domain, 連絡先, 会社, 国籍, Headphone, Hotel, Fax / Telefon, Contact No., Contact Number, Kontaktnummer, "
        "Order Prefix, Fax Area Code, Area, "
        "Email/Phone, Email (opt-in), X, Facebook/Twitter, (/)"
    ),
}


@pytest.mark.parametrize("kind", NAMES_BY_KIND)
def test_words_around_a_name_do_not_hide_it_and_make_no_other_name_of_it(kind: str) -> None:
    found = {name: detected_as(name) for name in NAMES_BY_KIND[kind].split(", ")}
    assert found == dict.fromkeys(found, kind)


def test_columns_come_in_the_order_of_the_kinds_with_their_names() -> None:
    columns = find_columns(["Phone", "id", "Email", "expires_at", "Email 2", "Operation Type"])
    assert identifiers(columns) == [(2, "Email", "email"), (4, "Email 2", "email"), (0, "Phone", "phone_number")]
    assert columns.positions == (2, 4, 0, 5, 3)
    assert (columns.operation_type, columns.effective_at, columns.expires_at) == (3, None, 4)
    assert columns.has_overrides
    assert not find_columns(["email"]).has_overrides


def test_a_mapping_gives_several_columns_or_none() -> None:
    names = ["a", "b", "email", "phone"]
    assert identifiers(find_columns(names, {"email": ["b", "a"]}))[:2] == [(1, "b", "email"), (0, "a", "email")]
    assert identifiers(find_columns(names, {"phone_number": ""})) == [(2, "email", "email")]
    assert identifiers(find_columns(names, {"phone_number": []})) == [(2, "email", "email")]


def test_a_column_that_is_given_is_not_detected_as_something_else_too() -> None:
    columns = find_columns(
        ["email", "mobile", "expires_at"], {"partner_user_id": "mobile", "effective_at": "expires_at"}
    )
    assert identifiers(columns) == [(0, "email", "email"), (1, "mobile", "partner_user_id")]
    assert (columns.effective_at, columns.expires_at) == (2, None)


def test_a_given_name_is_compared_exactly_first_and_then_loosely() -> None:
    assert identifiers(find_columns(["Mail A", "mail_a"], {"email": "mail_a"})) == [(1, "mail_a", "email")]
    assert identifiers(find_columns(["Mail A"], {"email": "mail_a"})) == [(0, "Mail A", "email")]


def test_an_unknown_kind_is_refused_with_the_kinds_there_are() -> None:
    with pytest.raises(InvalidInput, match=r'"Address" is not a kind .* email, phone_number, operation_type') as error:
        find_columns(["email"], {"Address": "email"}, DO_NOT_REACH_KINDS)
    assert "device_id" not in str(error.value)


def test_no_column_of_identifiers_is_refused_with_the_option_to_use() -> None:
    with pytest.raises(InvalidInput) as error:
        find_columns(["customer_id", "", "name"])
    assert '"customer_id", (column 2), "name"' in str(error.value)
    assert 'columns={"email": "<column>"};' in str(error.value)
    with pytest.raises(InvalidInput, match="the columns are: none"):
        find_columns([])


def test_a_list_of_login_names_is_refused_with_what_to_say_if_they_are_handles() -> None:
    with pytest.raises(InvalidInput, match='"User Name" is read as handles only if you assign it'):
        find_columns(["User Name", "Name"])


@pytest.mark.parametrize(
    ("names", "read"),
    [
        ("adid gps_adid idfa", "gps_adid idfa"),
        ("adid", "adid"),
        ("device_id adid", "adid"),
        ("device_id idfa", "idfa"),
        ("Device ID (hashed),Advertising ID", "Advertising ID"),
        ("Mobile Device ID,IDFA", "Mobile Device ID,IDFA"),
        ("User Email,Invitee Email", "Invitee Email"),
        ("Käufer E-Mail,Empfänger E-Mail", "Käufer E-Mail"),
        ("Customer Email,Employee Email,Employee Phone", "Customer Email"),
        ("Absender E-Mail-Adresse,Empfänger E-Mail-Adresse,Telefon", "Telefon"),
        ("Customer ID,User Email", "User Email"),
        ("user_email,customer_phone", "user_email,customer_phone"),
        ("Sender Phone,Recipient Email", "Recipient Email"),
        ("email customer,user_phone", "user_phone"),
        ("User Email,User Phone,Guest Phone", "Guest Phone"),
        ("Buyer Email,Attendee Email", "Buyer Email,Attendee Email"),
    ],
)
def test_a_column_is_not_read_next_to_one_that_more_certainly_has_ids_of_the_person(names: str, read: str) -> None:
    several = names.split("," if "," in names else None)
    wanted = read.split("," if "," in names else None)
    assert [name for _, name, _ in identifiers(find_columns(several))] == wanted
    # One object lacks the key by which the file shows whose the values are.
    columns = IdentifierColumns.of(None, IDENTIFIER_KINDS)
    columns.check_keys(several)
    assert {name for each in several for _, name, _ in columns.of_keys([each]).identifiers} == {*wanted}
    everything: ColumnMapping = {
        find_kind: [each] for each in several if (find_kind := detected_as(each)) in IDENTIFIER_KINDS
    }
    assert len(find_columns(several, everything).identifiers) == len(everything)


def test_an_override_comes_from_one_column() -> None:
    with pytest.raises(InvalidInput, match="2 columns are called expires_at: choose one"):
        find_columns(["email", "expires_at", "Expires At"])
    with pytest.raises(InvalidInput, match="expires_at must come from one column, but 2 are given"):
        find_columns(["email", "a", "b"], {"expires_at": ["a", "b"]})
    assert find_columns(["email", "expires_at", "Expires At"], {"expires_at": ""}).expires_at is None


@pytest.mark.parametrize("planted", ["secret@example.com", "+1 415 555 0123", "secret " * 10])
def test_names_that_are_data_do_not_get_into_messages(planted: str) -> None:
    with pytest.raises(InvalidInput, match="the names look like data") as headless:
        find_columns([planted, "name"])
    with pytest.raises(InvalidInput, match=r"the columns are: \(column 1\)") as missing:
        find_columns([planted, "b\udcff"], {"email": "c"})
    with pytest.raises(InvalidInput, match="<hidden> is not a kind") as swapped:
        find_columns(["email"], {planted: "email"})
    for error in (headless, missing, swapped):
        assert planted not in f"{error.value} {error.value!r}"
        str(error.value).encode()


@pytest.mark.parametrize("part", ["1", "sha256", "hash1", "value"])
def test_a_name_as_long_as_a_file_takes_no_time_and_stands_for_nothing(part: str) -> None:
    name = part * 200_000 + "x"
    columns = IdentifierColumns.of(None, IDENTIFIER_KINDS)
    assert detected_as(name) == ""
    assert identifiers(columns.of_table([name, "email"])) == [(1, "email", "email")]
    assert sum(map(len, columns.noted)) < 100
    assert columns.ignored_columns() == ("<hidden>",)
