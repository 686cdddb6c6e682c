"""Recognizes the country of a row, which is needed to read phone numbers without a country code."""

import functools
import re
from collections.abc import Mapping
from typing import Final

import attrs

from socialapi.bulk.audiences.column_names import words_in
from socialapi.bulk.inputs.numbers import is_missing

_ALPHA_3: Final = """
ABWAW AFGAF AGOAO AIAAI ALAAX ALBAL ANDAD AREAE ARGAR ARMAM ASMAS ATAAQ ATFTF ATGAG AUSAU AUTAT AZEAZ BDIBI BELBE
BENBJ BESBQ BFABF BGDBD BGRBG BHRBH BHSBS BIHBA BLMBL BLRBY BLZBZ BMUBM BOLBO BRABR BRBBB BRNBN BTNBT BVTBV BWABW
CAFCF CANCA CCKCC CHECH CHLCL CHNCN CIVCI CMRCM CODCD COGCG COKCK COLCO COMKM CPVCV CRICR CUBCU CUWCW CXRCX CYMKY
CYPCY CZECZ DEUDE DJIDJ DMADM DNKDK DOMDO DZADZ ECUEC EGYEG ERIER ESHEH ESPES ESTEE ETHET FINFI FJIFJ FLKFK FRAFR
FROFO FSMFM GABGA GBRGB GEOGE GGYGG GHAGH GIBGI GINGN GLPGP GMBGM GNBGW GNQGQ GRCGR GRDGD GRLGL GTMGT GUFGF GUMGU
GUYGY HKGHK HMDHM HNDHN HRVHR HTIHT HUNHU IDNID IMNIM INDIN IOTIO IRLIE IRNIR IRQIQ ISLIS ISRIL ITAIT JAMJM JEYJE
JORJO JPNJP KAZKZ KENKE KGZKG KHMKH KIRKI KNAKN KORKR KWTKW LAOLA LBNLB LBRLR LBYLY LCALC LIELI LKALK LSOLS LTULT
LUXLU LVALV MACMO MAFMF MARMA MCOMC MDAMD MDGMG MDVMV MEXMX MHLMH MKDMK MLIML MLTMT MMRMM MNEME MNGMN MNPMP MOZMZ
MRTMR MSRMS MTQMQ MUSMU MWIMW MYSMY MYTYT NAMNA NCLNC NERNE NFKNF NGANG NICNI NIUNU NLDNL NORNO NPLNP NRUNR NZLNZ
OMNOM PAKPK PANPA PCNPN PERPE PHLPH PLWPW PNGPG POLPL PRIPR PRKKP PRTPT PRYPY PSEPS PYFPF QATQA REURE ROURO RUSRU
RWARW SAUSA SDNSD SENSN SGPSG SGSGS SHNSH SJMSJ SLBSB SLESL SLVSV SMRSM SOMSO SPMPM SRBRS SSDSS STPST SURSR SVKSK
SVNSI SWESE SWZSZ SXMSX SYCSC SYRSY TCATC TCDTD TGOTG THATH TJKTJ TKLTK TKMTM TLSTL TONTO TTOTT TUNTN TURTR TUVTV
TWNTW TZATZ UGAUG UKRUA UMIUM URYUY USAUS UZBUZ VATVA VCTVC VENVE VGBVG VIRVI VNMVN VUTVU WLFWF WSMWS YEMYE ZAFZA
ZMBZM ZWEZW XKXXK UNKXK
"""
"""Country codes of ISO 3166: each three-letter code, followed by the two-letter code of the same country."""

_NAMES: Final = """
AC:Ascension-Island AD:Andorra AE:United-Arab-Emirates Vereinigte-Arabische-Emirate Émirats-arabes-unis
Emiratos-Árabes-Unidos Emirati-Arabi-Uniti Emirados-Árabes-Unidos Verenigde-Arabische-Emiraten
Zjednoczone-Emiraty-Arabskie アラブ首長国連邦 UAE AF:Afghanistan AG:Antigua-Barbuda AI:Anguilla AL:Albania AM:Armenia AO:Angola
AR:Argentina Argentinien Argentine Argentinië Argentyna アルゼンチン AS:American-Samoa AT:Austria Österreich Autriche
Oostenrijk オーストリア AU:Australia Australien Australie オーストラリア AW:Aruba AX:Åland-Islands AZ:Azerbaijan
BA:Bosnia-Herzegovina Bosnia BB:Barbados BD:Bangladesh BE:Belgium Belgien Belgique Bélgica Belgio België Belgia ベルギー
BF:Burkina-Faso BG:Bulgaria Bulgarien Bulgarie Bulgarije ブルガリア България BH:Bahrain BI:Burundi BJ:Benin
BL:St.-Barthélemy BM:Bermuda BN:Brunei BO:Bolivia Bolivia-Plurinational-State-of BQ:Caribbean-Netherlands BR:Brazil
Brasilien Brésil Brasil Brasile Brazilië Brazylia ブラジル BS:Bahamas BT:Bhutan BW:Botswana BY:Belarus BZ:Belize CA:Canada
Kanada カナダ CC:Cocos-(Keeling)-Islands CD:Congo-Kinshasa Democratic-Congo Congo-Democratic DR-Congo
CF:Central-African-Republic CG:Congo-Brazzaville Congo CH:Switzerland Schweiz Suisse Suiza Svizzera Suíça Zwitserland
Szwajcaria スイス CI:Côte-d'Ivoire Ivory-Coast CK:Cook-Islands CL:Chile Chili Cile チリ CM:Cameroon CN:China Chine Cina
Chiny 中国 People's-Republic-of-China PRC CO:Colombia Kolumbien Colombie Kolumbia コロンビア CR:Costa-Rica CU:Cuba
CV:Cape-Verde Cabo-Verde CW:Curaçao CX:Christmas-Island CY:Cyprus Zypern Chypre Chipre Cipro Cypr キプロス CZ:Czechia
Tschechien Tchéquie Chequia Cechia Tchéquia Tsjechië Czechy チェコ Czech-Republic Tschechische-Republik République-tchèque
República-Checa Repubblica-Ceca Tsjechische-Republiek Česko DE:Germany Deutschland Allemagne Alemania Germania Alemanha
Duitsland Niemcy ドイツ Federal-Republic-of-Germany BRD DJ:Djibouti DK:Denmark Dänemark Dinamarca Danimarca Denemarken
Dania デンマーク Danmark DM:Dominica DO:Dominican-Republic DZ:Algeria EC:Ecuador EE:Estonia Estland Estonie エストニア EG:Egypt
Ägypten Égypte Egipto Egitto Egito Egipt エジプト EH:Western-Sahara ER:Eritrea ES:Spain Spanien Espagne España Spagna
Espanha Spanje Hiszpania スペイン ET:Ethiopia FI:Finland Finnland Finlande Finlandia フィンランド Suomi FJ:Fiji
FK:Falkland-Islands FM:Micronesia FO:Faroe-Islands FR:France Frankreich Francia França Frankrijk Francja フランス GA:Gabon
GB:United-Kingdom Vereinigtes-Königreich Royaume-Uni Reino-Unido Regno-Unito Verenigd-Koninkrijk Wielka-Brytania イギリス
Great-Britain England Scotland Wales Northern-Ireland Großbritannien Grande-Bretagne Gran-Bretaña Gran-Bretagna
Grã-Bretanha Groot-Brittannië Inglaterra Angleterre 英国 United-Kingdom-of-Great-Britain-and-Northern-Ireland GD:Grenada
GE:Georgia GF:French-Guiana GG:Guernsey GH:Ghana GI:Gibraltar GL:Greenland GM:Gambia GN:Guinea GP:Guadeloupe
GQ:Equatorial-Guinea GR:Greece Griechenland Grèce Grecia Griekenland Grecja ギリシャ Hellas Ελλάδα GT:Guatemala GU:Guam
GW:Guinea-Bissau GY:Guyana HK:Hong-Kong Hong-Kong-SAR-China R.A.S.-chinoise-de-Hong-Kong RAE-de-Hong-Kong RAS-di-Hong-Kong
Hong-Kong-RAE-da-China SRA-Hongkong 中華人民共和国香港特別行政区 HN:Honduras HR:Croatia Kroatien Croatie Croacia Croazia Kroatië
Chorwacja クロアチア Hrvatska HT:Haiti HU:Hungary Ungarn Hongrie Hungría Ungheria Hongarije Węgry ハンガリー Magyarország
ID:Indonesia Indonesien Indonésie Indonezja インドネシア IE:Ireland Irland Irlande Irlanda Ierland Irlandia アイルランド Éire
IL:Israel Israele Izrael イスラエル IM:Isle-of-Man IN:India Indien Inde Indie インド Bharat IO:British-Indian-Ocean-Territory
IQ:Iraq IR:Iran Iran-Islamic-Republic-of IS:Iceland Island Islande Islandia Islanda IJsland アイスランド IT:Italy Italien
Italie Italia Włochy イタリア JE:Jersey JM:Jamaica JO:Jordan JP:Japan Japon Giappone Japão Japonia 日本 KE:Kenya
KG:Kyrgyzstan KH:Cambodia KI:Kiribati KM:Comoros KN:St.-Kitts-Nevis KP:North-Korea KR:South-Korea Korea-South Südkorea Corée-du-Sud
Corea-del-Sur Corea-del-Sud Coreia-do-Sul Zuid-Korea Korea-Południowa 韓国 Republic-of-Korea KW:Kuwait KY:Cayman-Islands
KZ:Kazakhstan LA:Laos Lao-People's-Democratic-Republic LB:Lebanon LC:St.-Lucia LI:Liechtenstein Fürstentum-Liechtenstein LK:Sri-Lanka LR:Liberia
LS:Lesotho LT:Lithuania Litauen Lituanie Lituania Litouwen Litwa リトアニア LU:Luxembourg Luxemburg Luxemburgo Lussemburgo
Luksemburg ルクセンブルク Lëtzebuerg LV:Latvia Lettland Lettonie Letonia Lettonia Letland Łotwa ラトビア LY:Libya MA:Morocco
Marokko Maroc Marruecos Marocco Marrocos Maroko モロッコ MC:Monaco MD:Moldova ME:Montenegro MF:St.-Martin MG:Madagascar
MH:Marshall-Islands MK:North-Macedonia Macedonia ML:Mali MM:Myanmar Burma MN:Mongolia MO:Macao Macau Macao-SAR-China
MP:Northern-Mariana-Islands MQ:Martinique MR:Mauritania MS:Montserrat MT:Malta Malte マルタ MU:Mauritius MV:Maldives
MW:Malawi MX:Mexico Mexiko Mexique Messico Meksyk メキシコ MY:Malaysia Malaisie Malasia Maleisië Malezja マレーシア
MZ:Mozambique NA:Namibia NC:New-Caledonia NE:Niger NF:Norfolk-Island NG:Nigeria ナイジェリア NI:Nicaragua NL:Netherlands
Niederlande Pays-Bas Países-Bajos Paesi-Bassi Países-Baixos Nederland Holandia オランダ Holland Hollande Holanda Olanda
NO:Norway Norwegen Norvège Noruega Norvegia Noorwegen Norwegia ノルウェー Norge NP:Nepal NR:Nauru NU:Niue NZ:New-Zealand
Neuseeland Nouvelle-Zélande Nueva-Zelanda Nuova-Zelanda Nova-Zelândia Nieuw-Zeeland Nowa-Zelandia ニュージーランド OM:Oman
PA:Panama PE:Peru Pérou ペルー PF:French-Polynesia PG:Papua-New-Guinea PH:Philippines Philippinen Filipinas Filippine
Filipijnen Filipiny フィリピン PK:Pakistan PL:Poland Polen Pologne Polonia Polska ポーランド PM:St.-Pierre-Miquelon
PR:Puerto-Rico PS:Palestinian-Territories Palestine PT:Portugal Portogallo Portugalia ポルトガル PW:Palau PY:Paraguay
QA:Qatar RE:Réunion RO:Romania Rumänien Roumanie Rumanía Romênia Roemenië Rumunia ルーマニア RS:Serbia RU:Russia Russland
Russie Rusia Rusland Rosja ロシア Russian-Federation RW:Rwanda SA:Saudi-Arabia Saudi-Arabien Arabie-saoudite Arabia-Saudí
Arabia-Saudita Saoedi-Arabië Arabia-Saudyjska サウジアラビア SB:Solomon-Islands SC:Seychelles SD:Sudan SE:Sweden Schweden
Suède Suecia Svezia Zweden Szwecja スウェーデン Sverige SG:Singapore Singapur Singapour Singapura シンガポール
SH:St.-Helena-Ascension-Tristan-da-Cunha SI:Slovenia Slowenien Slovénie Eslovenia Słowenia スロベニア Slovenija
SJ:Svalbard-Jan-Mayen SK:Slovakia Slowakei Slovaquie Eslovaquia Slovacchia Slowakije Słowacja スロバキア Slovak-Republic
SL:Sierra-Leone SM:San-Marino SN:Senegal SO:Somalia SR:Suriname SS:South-Sudan ST:São-Tomé-Príncipe SV:El-Salvador
SX:Sint-Maarten SY:Syria Syrian-Arab-Republic SZ:Eswatini Swaziland TA:Tristan-da-Cunha TC:Turks-Caicos-Islands TD:Chad
TG:Togo TH:Thailand Thaïlande Tailandia Thailandia Tajlandia タイ TJ:Tajikistan TK:Tokelau TL:Timor-Leste TM:Turkmenistan
TN:Tunisia TO:Tonga TR:Türkiye Türkei Turquie Turquía Turchia Turkije Turcja トルコ Turkey TT:Trinidad-Tobago TV:Tuvalu
TW:Taiwan Tajwan 台湾 Taiwan-Province-of-China TZ:Tanzania United-Republic-of-Tanzania UA:Ukraine Ucrania Ucraina
Oekraïne Ukraina ウクライナ Україна UG:Uganda US:United-States Vereinigte-Staaten États-Unis Estados-Unidos Stati-Uniti
Verenigde-Staten Stany-Zjednoczone アメリカ合衆国 アメリカ United-States-of-America America Vereinigte-Staaten-von-Amerika
États-Unis-d'Amérique EUA EE.UU. Estados-Unidos-de-América 米国 Stati-Uniti-d'America Verenigde-Staten-van-Amerika
UY:Uruguay UZ:Uzbekistan VA:Vatican-City VC:St.-Vincent-Grenadines VE:Venezuela Venezuela-Bolivarian-Republic-of
VG:British-Virgin-Islands VI:U.S.-Virgin-Islands VN:Vietnam Vietnã Wietnam ベトナム Vietname VU:Vanuatu WF:Wallis-Futuna
WS:Samoa XK:Kosovo YE:Yemen YT:Mayotte ZA:South-Africa Südafrika Afrique-du-Sud Sudáfrica África-do-Sul Zuid-Afrika
Republika-Południowej-Afryki 南アフリカ ZM:Zambia ZW:Zimbabwe
"""
"""The names of all countries that have phone numbers, with hyphens instead of spaces. The names of a country follow its
two-letter code. Every country has its English name; the sixty most frequent countries also have their names in German,
French, Spanish, Italian, Portuguese, Dutch, Polish and Japanese.
"""

_OTHER_CODES: Final = "UK:GB EL:GR VS:US D:DE A:AT F:FR I:IT B:BE L:LU P:PT"
"""Codes in common use that differ from ISO 3166, including vehicle codes and the Dutch code for the US."""
_LINKS: Final = frozenset(
    {"and", "und", "et", "y", "e", "i", "en", "the", "of"}
    | {"republic", "republik", "republique", "republica", "repubblica"}
)
"""Words that are ignored when names of countries are compared."""
_CODES_KEPT: Final = 1_024
_MOST_CHARACTERS: Final = 60
_calling_code: Final = re.compile(r"(?:\+ ?|00)?([1-9][0-9]{0,2})(?:\.0)?").fullmatch
_plain_calling_code: Final = re.compile(r"[1-9][0-9]{0,2}(?:\.0)?").fullmatch
_is_dotted: Final = re.compile(r"(?:[A-Za-z]\. ?){2}(?:[A-Za-z]\.?)?").fullmatch
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_is_subdivision: Final = re.compile("[A-Z]{2}-[A-Z0-9]{1,3}").fullmatch
_parts: Final = re.compile(
    r"[()\[\]/,;:|]+|\s+[-\u2013]\s+|\s+(?=\+)|(?:(?<=\+[0-9])|(?<=\+[0-9]{2})|(?<=\+[0-9]{3}))\s+"
).split


@attrs.frozen(repr=False)
class UnclearCountry:
    """The country of a row in which it is unclear how to complete the phone number. It has the possible regions, the
    digits of an area code in another column, and the reason why a number that needs them is unusable.
    """

    regions: tuple[str, ...]
    area_code: str
    reason: str


Country = str | UnclearCountry
"""The country of a row as its cell spells it, empty if there is none."""


def region_of(text: str) -> str | None:
    """Returns the region that a trimmed string names; None if it does not name a region that has phone numbers.

    The string may be a two- or three-letter ISO 3166 code in any case, the name of a country, or a calling code (`49`,
    `+49`, `0049`), which stands for its main region. It may also combine several of these for the same region (`DE -
    Germany`, `Canada (+1)`).
    """
    return _region_of(text.removeprefix("'")) if len(text) <= _MOST_CHARACTERS else None


def may_be_country(text: str) -> bool:
    """Returns whether a string looks like a country and not like a number, an initial, a salutation, or a yes or no."""
    is_word = len(text) < 2 or (len(text) == 2 and (text.istitle() or text.lower() in ("no", "si", "am", "pm")))
    is_number = text[:1].isdigit() and not text.startswith("00")
    return not (is_word or is_number) and region_of(text) is not None


def is_plain_calling_code(text: str) -> bool:
    """Returns whether a trimmed string is a calling code without a plus sign, which may also be a number of ISO 3166."""
    return _plain_calling_code(text.removeprefix("'")) is not None


def names_no_country(cell: object) -> bool:
    """Returns whether a cell of a country column has no value, or an object without one."""
    if isinstance(cell, Mapping):
        return all(map(_is_empty, cell.values()))
    return cell is False or _is_empty(cell)  # Odoo writes a missing value as False, and PHP as an empty object


def _is_empty(value: object) -> bool:
    return value == "" if isinstance(value, str) else is_missing(value)


def calling_code_of(country: str) -> int | None:
    """Returns the calling code of a country, which several countries may share, or None if the country is unknown."""
    import phonenumbers

    region = region_of(country)
    return None if region is None else phonenumbers.country_code_for_region(region)


@functools.lru_cache(_CODES_KEPT)
def _region_of(text: str) -> str | None:
    if (region := _region_of_one(text[:2] if _is_subdivision(text) else text)) is not None:
        return region
    import phonenumbers

    parts = [part.strip() for part in _parts(text) if any(map(str.isalnum, part))]
    # A calling code may belong to several countries, of which another part names one.
    named = {_region_of_one(part) for part in parts if _calling_code(part) is None} or {*map(_region_of_one, parts)}
    region = named.pop() if len(named) == 1 else None
    codes = {int(code[1]) for code in map(_calling_code, parts) if code is not None}
    return region if region and codes <= {phonenumbers.country_code_for_region(region)} else None


def _region_of_one(text: str) -> str | None:
    import phonenumbers

    if (code := _calling_code(text)) is not None:
        region = phonenumbers.COUNTRY_CODE_TO_REGION_CODE.get(int(code[1]), ("",))[0]
    else:
        name = text.replace(".", "").replace(" ", "") if _is_dotted(text) else text
        words = _words_of(name)
        # ET and ST, which are other words in names, are also codes.
        letters = next((each[0].upper() for each in (words_in(name).split(), words) if len(each) == 1), "")
        region = _regions().get(letters) or _regions().get("".join(words), letters)
    return region if region in phonenumbers.SUPPORTED_REGIONS else None


@functools.cache
def _regions() -> dict[str, str]:
    """Returns the region for each upper-case code that differs from its region, and for each lower-case name."""
    found = {pair[:3]: pair[3:] for pair in _ALPHA_3.split()}
    found |= {code: region for code, _, region in (pair.partition(":") for pair in _OTHER_CODES.split())}
    region = ""
    for entry in _NAMES.split():
        first, _, name = entry.rpartition(":")
        region = first or region
        found |= {"".join(_words_of(each)): region for each in (name, name.translate(_UMLAUTS))}
    return found


def _words_of(name: str) -> list[str]:
    return ["saint" if word == "st" else word for word in words_in(name).split() if word not in _LINKS]
