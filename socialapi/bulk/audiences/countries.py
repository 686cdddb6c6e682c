"""Reads the country of a row, which says what its phone numbers without a country code mean."""

import functools
import re
from typing import Final

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
"""The three letters of ISO 3166, each with the two letters of the country."""

_OTHER_NAMES: Final = {"UK": "GB", "EL": "GR"}
_CODES_KEPT: Final = 1_024
_MOST_CHARACTERS: Final = 8
_calling_code: Final = re.compile(r"(?:\+|00)?([1-9][0-9]{0,2})").fullmatch


def region_of(text: str) -> str | None:
    """Returns the region that a trimmed text names: two or three letters of ISO 3166 in any case, or a
    calling code (`49`, `+49`, `0049`), which stands for the main region that has it. None if it
    names none that has phone numbers.
    """
    return _region_of(text) if len(text) <= _MOST_CHARACTERS else None


@functools.lru_cache(_CODES_KEPT)
def _region_of(text: str) -> str | None:
    import phonenumbers

    if (code := _calling_code(text)) is not None:
        regions = phonenumbers.COUNTRY_CODE_TO_REGION_CODE.get(int(code[1]), ("",))
        return regions[0] if regions[0] in phonenumbers.SUPPORTED_REGIONS else None
    letters = text.upper()
    letters = _OTHER_NAMES.get(letters, letters)
    region = _by_alpha_3().get(letters, letters)
    return region if region in phonenumbers.SUPPORTED_REGIONS else None


@functools.cache
def _by_alpha_3() -> dict[str, str]:
    return {pair[:3]: pair[3:] for pair in _ALPHA_3.split()}
